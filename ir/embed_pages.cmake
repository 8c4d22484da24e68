# Writes the pages docs/errors/*.md into a C file, as `diagnostic_page`.
# Usage: cmake -DPAGES=folder -DOUTPUT=file -P embed_pages.cmake
file(GLOB pages ${PAGES}/*.md)
set(cases "")
foreach(page IN LISTS pages)
    get_filename_component(code ${page} NAME_WE)
    file(READ ${page} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND arrays "static const char page_${code}[] = {${bytes}0};\n")
    string(APPEND cases "    case ${code}:\n        return page_${code};\n")
endforeach()
file(WRITE ${OUTPUT}.new "// Made from docs/errors by embed_pages.cmake.\n"
    "#include \"ir/diagnostic.h\"\n\n${arrays}\n"
    "const char *diagnostic_page(enum diagnostic_code code) {\n    switch ((int)code) {\n${cases}"
    "    default:\n        return 0;\n    }\n}\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
