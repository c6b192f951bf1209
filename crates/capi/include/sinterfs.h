/* sinterfs.h: reading and mounting images of DwarFS, SquashFS, EROFS and other formats.
 *
 * Made by cbindgen from crates/capi; changes are made there.
 *
 * An image, and a file of one, may be used by many threads at once; a list and options by one
 * thread at a time. Handles are closed once, after the last call with them has returned; a file or
 * a list may outlive its image. Functions that fail return NULL or -1; sinterfs_last_errno() and
 * sinterfs_last_message() then return the reason, for the thread that called. Paths count from the
 * root of the image, with or without a leading slash, and never lead out of it. Functions for
 * mounts exist on Linux only.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef SINTERFS_H
#define SINTERFS_H

#include <stddef.h>
#include <stdint.h>

// A regular file of an image; it may be used by many threads at once.
typedef struct sinterfs_file sinterfs_file;

// An opened image; it may be used by many threads at once.
typedef struct sinterfs_image sinterfs_image;

// A list that is read one entry after the other, by one thread at a time.
typedef struct sinterfs_list sinterfs_list;

// A mount that threads of this process serve until `sinterfs_unmount`, or until somebody else
// unmounts it. A child of fork(2) does not use it.
typedef struct sinterfs_mount sinterfs_mount;

// How to mount images; made by `sinterfs_mount_options_new`.
typedef struct sinterfs_mount_options sinterfs_mount_options;

// Options for opening an image; made by `sinterfs_options_new`.
typedef struct sinterfs_options sinterfs_options;

// The attributes of a file. Times are seconds since 1970 and nanoseconds after that second.
typedef struct sinterfs_attributes {
  // The inode number; it stays the same for an image.
  uint64_t ino;
  // The bytes of a file's content or of a symlink's target; the format's own measure for a
  // directory.
  uint64_t size;
  // The bytes that are not in holes.
  uint64_t allocated;
  // The time of the last change of the content.
  int64_t mtime_sec;
  // The time of the last access.
  int64_t atime_sec;
  // The time of the last change of the inode.
  int64_t ctime_sec;
  // Nanoseconds of `mtime_sec`.
  uint32_t mtime_nsec;
  // Nanoseconds of `atime_sec`.
  uint32_t atime_nsec;
  // Nanoseconds of `ctime_sec`.
  uint32_t ctime_nsec;
  // The type and the permissions, as `st_mode`.
  uint32_t mode;
  // The owner.
  uint32_t uid;
  // The group.
  uint32_t gid;
  // The number of names; for a directory two plus its subdirectories.
  uint32_t nlink;
  // The number of the driver of a device.
  uint32_t rdev_major;
  // The number of the device among its driver's devices.
  uint32_t rdev_minor;
  // 0.
  uint32_t reserved[7];
} sinterfs_attributes;

// An entry of a list. Its strings are valid until the list is advanced or closed.
typedef struct sinterfs_entry {
  // The path from the root of the image, without a leading slash.
  const char *path;
  // The name: the end of `path`.
  const char *name;
  // The type, as the bits S_IFMT of `st_mode`.
  uint32_t file_type;
  // 0.
  uint32_t reserved;
} sinterfs_entry;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the errno of the last failure of a function in this thread; 0 if none failed.
//
// EIO means that the image is damaged or could not be read, ENOENT that a path does not exist,
// ENOTDIR that it leads through what is no directory, EOPNOTSUPP that the file is no image of a
// known format or has something unsupported, EOVERFLOW that a limit would be exceeded, EINVAL that
// an argument is invalid. A function that succeeds does not change it.
int sinterfs_last_errno(void);

// Returns the message of the last failure of a function in this thread, with the place of damage
// in the image; empty if none failed.
//
// It is valid until the next function of this library fails in this thread.
const char *sinterfs_last_message(void);

// Makes options with the default of everything; NULL if that fails. They are closed by
// `sinterfs_options_free`.
struct sinterfs_options *sinterfs_options_new(void);

// Frees options; `options` may be NULL. Images that were opened with them stay open.
//
// # Safety
// `options` is NULL or from `sinterfs_options_new`, and was not freed.
void sinterfs_options_free(struct sinterfs_options *options);

// Sets where in its file the image starts; without it, that is found.
//
// # Safety
// `options` is from `sinterfs_options_new`, and was not freed.
int sinterfs_options_set_offset(struct sinterfs_options *options, uint64_t offset);

// Sets how many bytes the decoded blocks that an image keeps may take; 512 MiB without it.
//
// # Safety
// `options` is from `sinterfs_options_new`, and was not freed.
int sinterfs_options_set_cache_bytes(struct sinterfs_options *options, uint64_t bytes);

// Adds the file of a further device of the image (EROFS, WIM), in their order. Opening an image of
// another format fails with EINVAL then.
//
// # Safety
// `options` is from `sinterfs_options_new`, and was not freed; `path` ends with NUL.
int sinterfs_options_add_device(struct sinterfs_options *options, const char *path);

// Sets the directory of the objects of a composefs image. Opening an image of another format than
// EROFS fails with EINVAL then.
//
// # Safety
// `options` is from `sinterfs_options_new`, and was not freed; `path` ends with NUL.
int sinterfs_options_set_objects(struct sinterfs_options *options, const char *path);

// Sets which image of a WIM file is opened, by its number (as text) or its name; without it,
// all of them are, as directories named by their numbers. Opening fails with ENOENT if the file
// has no such image, and with EINVAL if it is one of another format.
//
// # Safety
// `options` is from `sinterfs_options_new`, and was not freed; `image` ends with NUL.
int sinterfs_options_set_image(struct sinterfs_options *options, const char *image);

// Sets which partition of a disk image (GPT or MBR) is opened, by its number; without it, the only
// one that holds an image of a known format. An offset is then one in the partition. Opening fails
// with ENOENT if the disk has no such partition, and with EINVAL if the file has no partition
// table.
//
// # Safety
// `options` is from `sinterfs_options_new`, and was not freed.
int sinterfs_options_set_partition(struct sinterfs_options *options, uint32_t number);

// Returns the version of the library, as in "0.1.0".
const char *sinterfs_version(void);

// Opens an image file of any format. `options` may be NULL. Returns NULL on failure.
//
// # Safety
// `path` ends with NUL; `options` is NULL or from `sinterfs_options_new`, and was not freed.
struct sinterfs_image *sinterfs_open(const char *path, const struct sinterfs_options *options);

// Opens an image by a descriptor of its file, which is duplicated and can be closed afterwards.
// `options` may be NULL. Returns NULL on failure.
//
// # Safety
// `fd` is open, or -1; `options` is NULL or from `sinterfs_options_new`, and was not freed.
struct sinterfs_image *sinterfs_open_fd(int fd, const struct sinterfs_options *options);

// Closes an image; `image` may be NULL.
//
// # Safety
// `image` is NULL or from `sinterfs_open` or `sinterfs_open_fd`, was not closed, and no other call
// uses it.
void sinterfs_close(struct sinterfs_image *image);

// Returns the name of the image's format, as in "dwarfs"; it is valid until the image is closed.
//
// # Safety
// `image` is open.
const char *sinterfs_format(const struct sinterfs_image *image);

// Gets the attributes of a path; symlinks are followed, inside the image only. Returns 0 or -1.
//
// # Safety
// `image` is open; `path` ends with NUL; `attributes` is valid for writing.
int sinterfs_stat(const struct sinterfs_image *image,
                  const char *path,
                  struct sinterfs_attributes *attributes);

// Gets the attributes of a path without following a final symlink. Returns 0 or -1.
//
// # Safety
// `image` is open; `path` ends with NUL; `attributes` is valid for writing.
int sinterfs_lstat(const struct sinterfs_image *image,
                   const char *path,
                   struct sinterfs_attributes *attributes);

// Copies the target of a symlink, without a NUL, and returns its length; with a size of 0 the
// length alone. Returns -1 on failure, with ERANGE if it does not fit.
//
// # Safety
// `image` is open; `path` ends with NUL; `buffer` is valid for writing `size` bytes.
int64_t sinterfs_readlink(const struct sinterfs_image *image,
                          const char *path,
                          char *buffer,
                          size_t size);

// Opens a regular file of an image; symlinks are followed, inside the image only. Returns NULL on
// failure, with EISDIR for a directory and EINVAL for another type.
//
// # Safety
// `image` is open; `path` ends with NUL.
struct sinterfs_file *sinterfs_open_file(const struct sinterfs_image *image, const char *path);

// Closes a file; `file` may be NULL.
//
// # Safety
// `file` is NULL or from `sinterfs_open_file`, was not closed, and no other call uses it.
void sinterfs_close_file(struct sinterfs_file *file);

// Gets the attributes of an open file. Returns 0 or -1.
//
// # Safety
// `file` is open; `attributes` is valid for writing.
int sinterfs_file_stat(const struct sinterfs_file *file, struct sinterfs_attributes *attributes);

// Reads up to `size` bytes from an offset of a file on, and returns how many they are: fewer only
// at the end of the file. Returns -1 on failure, with EIO for damage.
//
// # Safety
// `file` is open; `buffer` is valid for writing `size` bytes.
int64_t sinterfs_read_at(const struct sinterfs_file *file,
                         uint64_t offset,
                         void *buffer,
                         size_t size);

// Lists the entries of a directory, in bytewise order of their names, without "." and "..".
// Returns NULL on failure, with ENOTDIR for what is no directory.
//
// # Safety
// `image` is open; `path` ends with NUL.
struct sinterfs_list *sinterfs_list_directory(const struct sinterfs_image *image, const char *path);

// Lists everything below a directory: a directory before its entries, these in bytewise order of
// their names. Symlinks are not followed. A directory that cannot be read is a failure of
// `sinterfs_next`; the next call continues after it. Returns NULL on failure.
//
// # Safety
// `image` is open; `path` ends with NUL.
struct sinterfs_list *sinterfs_walk(const struct sinterfs_image *image, const char *path);

// Advances a list. Returns 1 and writes an entry, or 0 at the end, or -1 on failure.
//
// # Safety
// `list` is open; `entry` is valid for writing.
int sinterfs_next(struct sinterfs_list *list, struct sinterfs_entry *entry);

// Gets the attributes of the entry that `sinterfs_next` wrote last. Symlinks are not followed.
// Returns 0 or -1.
//
// # Safety
// `list` is open; `attributes` is valid for writing.
int sinterfs_entry_stat(const struct sinterfs_list *list, struct sinterfs_attributes *attributes);

// Leaves out what is below the directory that `sinterfs_next` wrote last, in a list of
// `sinterfs_walk`. Returns 0 or -1.
//
// # Safety
// `list` is open.
int sinterfs_skip_directory(struct sinterfs_list *list);

// Closes a list; `list` may be NULL.
//
// # Safety
// `list` is NULL or from `sinterfs_list_directory` or `sinterfs_walk`, and was not closed.
void sinterfs_close_list(struct sinterfs_list *list);

// Copies the full names of the extended attributes of a path, each terminated by NUL, sorted, and
// returns how many bytes they are; with a size of 0 the count alone. A final symlink is not
// followed. Returns -1 on failure, with ERANGE if they do not fit.
//
// # Safety
// `image` is open; `path` ends with NUL; `buffer` is valid for writing `size` bytes.
int64_t sinterfs_listxattr(const struct sinterfs_image *image,
                           const char *path,
                           char *buffer,
                           size_t size);

// Copies the value of an extended attribute of a path and returns its length; with a size of 0 the
// length alone. A final symlink is not followed. Returns -1 on failure, with ENODATA if there is
// no such attribute and ERANGE if it does not fit.
//
// # Safety
// `image` is open; `path` and `name` end with NUL; `buffer` is valid for writing `size` bytes.
int64_t sinterfs_getxattr(const struct sinterfs_image *image,
                          const char *path,
                          const char *name,
                          void *buffer,
                          size_t size);

// Makes options with the default of everything; NULL if that fails. They are closed by
// `sinterfs_mount_options_free`.
struct sinterfs_mount_options *sinterfs_mount_options_new(void);

// Frees options; `options` may be NULL. What was mounted with them stays mounted.
//
// # Safety
// `options` is NULL or from `sinterfs_mount_options_new`, and was not freed.
void sinterfs_mount_options_free(struct sinterfs_mount_options *options);

// Sets what serves names and attributes: 0 for EROFS of the kernel if this process is root and
// nothing is lost, else FUSE (the default), 1 for the kernel or a failure, 2 for FUSE.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_method(struct sinterfs_mount_options *options, int method);

// Sets how many threads answer requests; 0 for as many as suit the machine.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_threads(struct sinterfs_mount_options *options, size_t count);

// Sets whether other users than the one that mounts have access; they have if root mounts.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_allow_other(struct sinterfs_mount_options *options, int allow);

// Sets the owner and the group of all files, instead of their own.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_owner(struct sinterfs_mount_options *options,
                                     uint32_t uid,
                                     uint32_t gid);

// Sets the permission bits that are cleared in all files, at most 0777.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_umask(struct sinterfs_mount_options *options, uint32_t mask);

// Makes mounts writable by overlayfs: changes are stored in the directories `upper` and `work` of
// a directory, or in memory until the mount ends if `path` is NULL.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` is NULL or ends with
// NUL.
int sinterfs_mount_options_set_overlay(struct sinterfs_mount_options *options, const char *path);

// Sets whether idle processors decode blocks before they are read; they do without it.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_decode_ahead(struct sinterfs_mount_options *options, int ahead);

// Sets the seconds without reads after which decoded blocks are freed; 300 without it.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_trim_after(struct sinterfs_mount_options *options, uint64_t seconds);

// Sets the seconds without use after which images are unmounted; 0 for never.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed.
int sinterfs_mount_options_set_unmount_after(struct sinterfs_mount_options *options,
                                             uint64_t seconds);

// Sets a file that gets counters of reads and of the cache as JSON, each second. It is of one
// image: mounting several with it fails with EINVAL.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` ends with NUL.
int sinterfs_mount_options_set_stats(struct sinterfs_mount_options *options, const char *path);

// Sets a file that gets the paths of files in the order of their first read: a list for
// `sinter build --hot`. It is of one image: mounting several with it fails with EINVAL.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` ends with NUL.
int sinterfs_mount_options_set_record(struct sinterfs_mount_options *options, const char *path);

// Sets a file that gets the path of each file that could not be read, and the reason.
//
// # Safety
// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` ends with NUL.
int sinterfs_mount_options_set_damage_log(struct sinterfs_mount_options *options, const char *path);

// Mounts `count` images on a directory; several are layers, the topmost first. `options` may be
// NULL. The mount can be used when this returns, and the images can be closed. Returns NULL on
// failure.
//
// A program that ends without `sinterfs_unmount` leaves a mount that gives errors until it is
// unmounted.
//
// # Safety
// `images` has `count` open images; `dir` ends with NUL; `options` is NULL or from
// `sinterfs_mount_options_new`, and was not freed.
struct sinterfs_mount *sinterfs_mount_images(const struct sinterfs_image *const *images,
                                             size_t count,
                                             const char *dir,
                                             const struct sinterfs_mount_options *options);

// Returns a warning of a mount by its number, from 0 on: why it is not through the kernel, what it
// does not show. NULL if there are not as many. It is valid until the mount is unmounted.
//
// # Safety
// `mount` is from `sinterfs_mount_images`, and was not unmounted.
const char *sinterfs_mount_warning(const struct sinterfs_mount *mount, size_t number);

// Unmounts, which also succeeds if somebody else has done so. `mount` may be NULL. What is in use
// stays mounted, and the result is -1 with EBUSY, unless `lazy` is not 0: then it is detached from
// its directory, and served until the last file is closed, as long as this process runs. After any
// other result `mount` is closed. Returns 0 or -1.
//
// # Safety
// `mount` is NULL or from `sinterfs_mount_images`, was not unmounted, and no other call uses it.
int sinterfs_unmount(struct sinterfs_mount *mount, int lazy);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SINTERFS_H */
