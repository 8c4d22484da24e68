// Where the installation keeps what the backend needs: `lib` beside the directory of the running
// executable, in the build tree as when installed.
#ifndef PLACE_BACKEND_INSTALLATION_H
#define PLACE_BACKEND_INSTALLATION_H

struct arena;
const char *library_directory(struct arena *arena);

#endif
