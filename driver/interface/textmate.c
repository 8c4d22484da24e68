// Colours for VS Code and what else reads TextMate's grammars. Regular expressions of all words of
// a class, in JSON.
#include "driver/interface/interface.h"

static void print_rule(const char *scope, const char *regex) {
    printf("    { \"name\": \"%s.place\", \"match\": \"%s\" },\n", scope, regex);
}

static void print_class(const struct word_class *word_class) {
    printf("    { \"name\": \"%s.place\", \"match\": \"\\\\b(?:", word_class->scope);
    for (int i = 0, n = 0; i < word_class->n; i++)
        if (is_first_of(word_class, i))
            printf("%s%s", n++ ? "|" : "", word_class->words[i]);
    printf(")\\\\b\" },\n");
}

static void print_quantities(void) {
    printf("    { \"match\": \"\\\\b(\\\\d+(?:\\\\.\\\\d+)?(?:[eE][+-]?\\\\d+)?)(?:\\\\s*(");
    for (int i = 0; i < n_unit_words; i++)
        printf("%s%s", i ? "|" : "", unit_words[i]);
    printf(")(?![A-Za-z0-9_/]))?\",\n"
           "      \"captures\": { \"1\": { \"name\": \"constant.numeric.place\" },\n"
           "                    \"2\": { \"name\": \"keyword.other.unit.place\" } } }\n");
}

void print_textmate(void) {
    printf("{\n"
           "  \"name\": \"Place\",\n"
           "  \"scopeName\": \"source.place\",\n"
           "  \"fileTypes\": [\"place\"],\n"
           "  \"patterns\": [\n");
    print_rule("comment.line.double-slash", "//.*$");
    print_rule("string.quoted.double", "\\\"[^\\\"]*\\\"");
    for (int i = 0; i < N_WORD_CLASSES; i++)
        print_class(&word_classes[i]);
    print_quantities();
    printf("  ]\n"
           "}\n");
}
