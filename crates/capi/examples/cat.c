/* Writes a file of an image to standard output:
 *   cc cat.c $(pkg-config --cflags --libs sinterfs) -o cat && ./cat IMAGE PATH
 */
#include <stdio.h>
#include <sinterfs.h>

static int copy(const sinterfs_file *file)
{
    static char buffer[1 << 20];
    uint64_t offset = 0;
    int64_t count;

    while ((count = sinterfs_read_at(file, offset, buffer, sizeof buffer)) > 0) {
        if (fwrite(buffer, 1, (size_t)count, stdout) != (size_t)count)
            return -1;
        offset += (uint64_t)count;
    }
    return (int)count;
}

int main(int argc, char **argv)
{
    sinterfs_image *image;
    sinterfs_file *file = NULL;
    int status = 1;

    if (argc != 3) {
        fprintf(stderr, "usage: cat IMAGE PATH\n");
        return 2;
    }
    image = sinterfs_open(argv[1], NULL);
    if (image != NULL)
        file = sinterfs_open_file(image, argv[2]);
    if (file != NULL && copy(file) == 0 && fflush(stdout) == 0)
        status = 0;
    else
        fprintf(stderr, "cat: %s (errno %d)\n", sinterfs_last_message(), sinterfs_last_errno());
    sinterfs_close_file(file);
    sinterfs_close(image);
    return status;
}
