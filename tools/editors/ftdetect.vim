" Files that end in .place are in the language of placec.
autocmd BufRead,BufNewFile *.place setfiletype place
