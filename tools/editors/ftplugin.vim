" Of files in the language of placec: how comments begin, and how far braces indent.
setlocal commentstring=//\ %s comments=:// expandtab shiftwidth=2
