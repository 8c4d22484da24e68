// Elements in memory of the values that an elementwise loop reads and writes; see elementwise.h.
#include "backend/elementwise.h"

#include <string.h>

// Only a loop whose every load and store says so counts as parallel.
static void mark_access(struct tree *tree, LLVMValueRef access) {
    struct emitter *e = tree->e;
    unsigned kind =
        LLVMGetMDKindIDInContext(e->llvm, "llvm.access.group", strlen("llvm.access.group"));
    LLVMSetMetadata(access, kind, LLVMMetadataAsValue(e->llvm, e->access_group));
}

static LLVMValueRef leaf_pointer(struct tree *tree, value_id value, LLVMValueRef index) {
    unsigned i = 0;
    while (tree->leaves[i] != value)
        CHECK(++i < tree->n_leaves);
    LLVMTypeRef type = element_type(tree->e, value_type(tree->e, value)->dtype);
    return element_pointer(tree->e, type, tree->pointers[i], index);
}

// Alignment is that of an element: rows begin anywhere. Unaligned vector loads cost nothing here.
LLVMValueRef load_leaf(struct tree *tree, value_id value, LLVMValueRef index) {
    struct emitter *e = tree->e;
    LLVMValueRef from = leaf_pointer(tree, value, index), access;
    LLVMValueRef x = load_element(e, value_type(e, value)->dtype, from, &access);
    mark_access(tree, access);
    return x;
}

void store_leaf(struct tree *tree, value_id value, LLVMValueRef index, LLVMValueRef x) {
    struct emitter *e = tree->e;
    LLVMValueRef to = leaf_pointer(tree, value, index);
    mark_access(tree, store_element(e, value_type(e, value)->dtype, x, to));
}
