/* Runs a command and prints on stderr, behind what the command wrote there, the most memory that it
 * had at once, in KiB: what wait4 says of it.
 *
 *     bench_peak_memory COMMAND [ARGUMENTS]
 *
 * The kernel counts for a process the pages it had before it executed the command, which are those
 * of the process that it was forked from. So a small one forks, and not the script that wants to
 * know. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct rusage usage;
    int status;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_peak_memory COMMAND [ARGUMENTS]\n");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("bench_peak_memory");
        return 1;
    }
    fprintf(stderr, "%ld\n", usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
