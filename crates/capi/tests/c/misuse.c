/* Every kind of failure of the library, with its errno: misuse IMAGE DIRECTORY FILE */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sinterfs.h>

static int failures;

static void expect(int number, const char *part, const char *what, int failed)
{
    if (!failed || sinterfs_last_errno() != number ||
        strstr(sinterfs_last_message(), part) == NULL) {
        fprintf(stderr, "%s: errno %d, message %s\n", what, sinterfs_last_errno(),
                sinterfs_last_message());
        failures++;
    }
}

#define FAILS(number, part, call, failed) expect(number, part, #call, (call) == (failed))

int main(int argc, char **argv)
{
    sinterfs_options *options;
    sinterfs_image *image;
    sinterfs_file *file;
    sinterfs_list *list;
    sinterfs_entry entry;
    sinterfs_attributes attributes;
    char buffer[4], below[256];
    int fd;

    if (argc != 4 || sinterfs_last_errno() != 0 || *sinterfs_last_message() != 0)
        return 2;
    FAILS(EINVAL, "path is a null pointer", sinterfs_open(NULL, NULL), NULL);
    FAILS(ENOENT, "/nowhere", sinterfs_open("/nowhere", NULL), NULL);
    FAILS(EOPNOTSUPP, "not an image", sinterfs_open("/bin/true", NULL), NULL);
    FAILS(EBADF, "descriptor", sinterfs_open_fd(-1, NULL), NULL);
    fd = open(argv[1], O_RDONLY);
    image = sinterfs_open_fd(fd, NULL);
    if (image == NULL || sinterfs_format(image) == NULL || *sinterfs_format(image) == 0)
        return 2;
    options = sinterfs_options_new();
    if (options == NULL || sinterfs_options_set_objects(options, "/nowhere") != 0)
        return 2;
    if (strcmp(sinterfs_format(image), "erofs") != 0)
        FAILS(EINVAL, "`objects` is for erofs", sinterfs_open(argv[1], options), NULL);
    sinterfs_options_free(options);
    FAILS(EINVAL, "image is a null pointer", sinterfs_stat(NULL, "/", &attributes), -1);
    FAILS(EINVAL, "attributes is a null", sinterfs_stat(image, "/", NULL), -1);
    FAILS(ENOENT, "no such", sinterfs_stat(image, "/nowhere", &attributes), -1);
    FAILS(ENOENT, "no such", sinterfs_lstat(image, "nowhere", &attributes), -1);
    snprintf(below, sizeof below, "%s/x", argv[3]);
    FAILS(ENOTDIR, "not a directory", sinterfs_stat(image, below, &attributes), -1);
    FAILS(ENOTDIR, "not a directory", sinterfs_open_file(image, below), NULL);
    FAILS(ENOTDIR, "not a directory", sinterfs_list_directory(image, below), NULL);
    FAILS(ENOTDIR, "not a directory", sinterfs_readlink(image, below, buffer, sizeof buffer), -1);
    FAILS(EISDIR, "is a directory", sinterfs_open_file(image, argv[2]), NULL);
    FAILS(ENOTDIR, "not a directory", sinterfs_list_directory(image, argv[3]), NULL);
    FAILS(ENOTDIR, "not a directory", sinterfs_walk(image, argv[3]), NULL);
    FAILS(EINVAL, "", sinterfs_readlink(image, argv[3], buffer, sizeof buffer), -1);
    FAILS(ENODATA, "no such attribute", sinterfs_getxattr(image, argv[3], "user.no", NULL, 0), -1);
    file = sinterfs_open_file(image, argv[3]);
    if (file == NULL || sinterfs_read_at(file, 0, NULL, 0) != 0 ||
        sinterfs_read_at(file, UINT64_MAX, buffer, sizeof buffer) != 0)
        return 2;
    /* what is behind the end of a file is left as it is */
    memset(buffer, 'z', sizeof buffer);
    if (sinterfs_file_stat(file, &attributes) != 0 || attributes.size == 0 ||
        sinterfs_read_at(file, attributes.size - 1, buffer, sizeof buffer) != 1 || buffer[1] != 'z')
        return 2;
    FAILS(EINVAL, "buffer is a null pointer", sinterfs_read_at(file, 0, NULL, 1), -1);
    FAILS(EINVAL, "more bytes", sinterfs_read_at(file, 0, buffer, SIZE_MAX), -1);
    list = sinterfs_list_directory(image, argv[2]);
    FAILS(EINVAL, "at no entry", sinterfs_entry_stat(list, &attributes), -1);
    FAILS(EINVAL, "not of a tree", sinterfs_skip_directory(list), -1);
    if (sinterfs_next(list, &entry) != 1 || strstr(entry.path, entry.name) == NULL)
        return 2;
    /* what was opened of an image stays when the image is closed */
    sinterfs_close(image);
    if (sinterfs_entry_stat(list, &attributes) != 0 || sinterfs_file_stat(file, &attributes) != 0 ||
        sinterfs_read_at(file, 0, buffer, 1) != 1)
        return 2;
    sinterfs_close_list(list);
    sinterfs_close_file(file);
    sinterfs_close(NULL);
    sinterfs_close_file(NULL);
    sinterfs_close_list(NULL);
    sinterfs_options_free(NULL);
    return failures != 0;
}
