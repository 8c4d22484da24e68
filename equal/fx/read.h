// Reads PyTorch's FX text: what `gm.print_readable(print_output=False)` gives of a graph of ATen ops, be it of
// torch.export, of aot_autograd or of make_fx.
#ifndef PLACE_EQUAL_FX_READ_H
#define PLACE_EQUAL_FX_READ_H

#include "equal/layout/layout.h"

// Whether a source looks like one, by its beginning.
bool fx_is_text(uint32_t source, const struct diagnostics *);
// The graph of a source of the diagnostics' set; NULL: it is none, which has been reported (E90x), at its place. The
// text does not say which devices execute it: what is given does; NULL: one device. All that stays lies in the arena,
// and points into the source. Memory is linear in the text's bytes, and in them times the devices.
struct graph *fx_read(uint32_t source, const struct layout_given *, struct arena *,
                      struct diagnostics *);

#endif
