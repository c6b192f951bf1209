/* Mounts an image, prints a file of the mount and unmounts: mount IMAGE DIRECTORY RECORD FILE */
#include <errno.h>
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

static int copy(const char *dir, const char *name, sinterfs_mount *mount)
{
    char path[4096], buffer[1000];
    size_t count;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "rb");
    if (file == NULL)
        return -1;
    FAILS(EBUSY, "", sinterfs_unmount(mount, 0), -1);
    while ((count = fread(buffer, 1, sizeof buffer, file)) > 0)
        fwrite(buffer, 1, count, stdout);
    return fclose(file);
}

/* What is open stays readable after the mount was detached. */
static void detach(const char *dir, const char *name, sinterfs_mount *mount)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    file = fopen(path, "rb");
    if (file == NULL || sinterfs_unmount(mount, 1) != 0 || fgetc(file) == EOF || fclose(file) != 0) {
        fprintf(stderr, "detached: %s\n", sinterfs_last_message());
        failures++;
    }
}

int main(int argc, char **argv)
{
    sinterfs_mount_options *options = sinterfs_mount_options_new();
    const sinterfs_image *images[2];
    sinterfs_image *image;
    sinterfs_mount *mount;

    if (argc != 5 || options == NULL)
        return 2;
    image = sinterfs_open(argv[1], NULL);
    images[0] = images[1] = image;
    FAILS(EINVAL, "options is a null", sinterfs_mount_options_set_method(NULL, 0), -1);
    FAILS(EINVAL, "method", sinterfs_mount_options_set_method(options, 3), -1);
    FAILS(EINVAL, "mask", sinterfs_mount_options_set_umask(options, 01000), -1);
    FAILS(EINVAL, "path is a null", sinterfs_mount_options_set_stats(options, NULL), -1);
    FAILS(EINVAL, "array of images", sinterfs_mount_images(NULL, 1, argv[2], NULL), NULL);
    FAILS(EINVAL, "path is a null", sinterfs_mount_images(images, 1, NULL, NULL), NULL);
    FAILS(ENOENT, "/nowhere", sinterfs_mount_images(images, 1, "/nowhere", NULL), NULL);
    FAILS(EINVAL, "mount is a null", sinterfs_mount_warning(NULL, 0), NULL);
    if (sinterfs_unmount(NULL, 0) != 0 || sinterfs_mount_options_set_method(options, 2) != 0 ||
        sinterfs_mount_options_set_threads(options, 2) != 0 ||
        sinterfs_mount_options_set_owner(options, 7, 8) != 0 ||
        sinterfs_mount_options_set_umask(options, 022) != 0 ||
        sinterfs_mount_options_set_decode_ahead(options, 0) != 0 ||
        sinterfs_mount_options_set_trim_after(options, 60) != 0 ||
        sinterfs_mount_options_set_unmount_after(options, 0) != 0 ||
        sinterfs_mount_options_set_record(options, argv[3]) != 0)
        return 2;
    FAILS(EINVAL, "one image only", sinterfs_mount_images(images, 2, argv[2], options), NULL);
    mount = sinterfs_mount_images(images, 1, argv[2], options);
    sinterfs_mount_options_free(options);
    if (mount == NULL || sinterfs_mount_warning(mount, 0) != NULL) {
        fprintf(stderr, "%s\n", sinterfs_last_message());
        return 1;
    }
    FAILS(EBUSY, "", sinterfs_mount_images(images, 1, argv[2], NULL), NULL);
    if (copy(argv[2], argv[4], mount) != 0 || sinterfs_unmount(mount, 0) != 0) {
        fprintf(stderr, "%s\n", sinterfs_last_message());
        return 1;
    }
    mount = sinterfs_mount_images(images, 1, argv[2], NULL);
    /* a mount has a handle of the image of its own */
    sinterfs_close(image);
    if (mount == NULL)
        return 1;
    detach(argv[2], argv[4], mount);
    return failures;
}
