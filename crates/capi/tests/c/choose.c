/* A file of one image of several: choose FILE PATH image NAME | choose FILE PATH partition NUMBER.
 * Prints its content, or the errno and the message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sinterfs.h>

int main(int argc, char **argv)
{
    sinterfs_options *options = sinterfs_options_new();
    sinterfs_image *image;
    sinterfs_file *file = NULL;
    char buffer[1000];
    int64_t count = -1;
    int set;

    if (argc != 5 || options == NULL)
        return 2;
    if (strcmp(argv[3], "image") == 0)
        set = sinterfs_options_set_image(options, argv[4]);
    else
        set = sinterfs_options_set_partition(options, (uint32_t)strtoul(argv[4], NULL, 10));
    image = set == 0 ? sinterfs_open(argv[1], options) : NULL;
    sinterfs_options_free(options);
    if (image != NULL)
        file = sinterfs_open_file(image, argv[2]);
    if (file != NULL)
        count = sinterfs_read_at(file, 0, buffer, sizeof buffer);
    if (count >= 0)
        printf("%.*s", (int)count, buffer);
    else
        printf("%d: %s", sinterfs_last_errno(), sinterfs_last_message());
    sinterfs_close_file(file);
    sinterfs_close(image);
    return 0;
}
