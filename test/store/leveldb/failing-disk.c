/*
 * Makes calls of a process fail, as a failing disk or a read-only mount does: preloaded, with FAULT_CALL (the
 * function), FAULT_PATH (a part of the path of its file), FAULT_AFTER (how many calls succeed) and
 * FAULT_ERRNO (the error of all later ones).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long calls = 0;

static int fails(const char *call, const char *path) {
  const char *chosen = getenv("FAULT_CALL"), *part = getenv("FAULT_PATH");
  if (!chosen || !part || strcmp(chosen, call) || !strstr(path, part)) return 0;
  if (__sync_add_and_fetch(&calls, 1) <= atol(getenv("FAULT_AFTER"))) return 0;
  errno = atoi(getenv("FAULT_ERRNO"));
  return 1;
}

static int fails_at(const char *call, int file) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fdatasync(int file) { return fails_at("fdatasync", file) ? -1 : REAL(fdatasync)(file); }

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  return fails_at("pwrite64", file) ? -1 : REAL(pwrite64)(file, bytes, count, at);
}

ssize_t pread64(int file, void *bytes, size_t count, off64_t at) {
  return fails_at("pread64", file) ? -1 : REAL(pread64)(file, bytes, count, at);
}

size_t fwrite_unlocked(const void *bytes, size_t size, size_t count, FILE *file) {
  return fails_at("fwrite_unlocked", fileno(file)) ? 0 : REAL(fwrite_unlocked)(bytes, size, count, file);
}

FILE *fopen64(const char *path, const char *mode) {
  return mode[0] == 'w' && fails("fopen64", path) ? NULL : REAL(fopen64)(path, mode);
}

int rename(const char *from, const char *to) {
  return fails("rename", to) ? -1 : REAL(rename)(from, to);
}
