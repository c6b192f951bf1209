// Prints the paths of an image, and the bytes of each regular file's content, from Go by cgo:
//
//	go run . IMAGE
//
// Needs the packages libsinterfs-dev and pkg-config.
package main

/*
#cgo pkg-config: sinterfs
#include <stdlib.h>
#include <sinterfs.h>
*/
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// failure returns the error of the last call. The goroutine must have stayed on its thread.
func failure(path string) error {
	number := syscall.Errno(C.sinterfs_last_errno())
	message := C.GoString(C.sinterfs_last_message())
	return fmt.Errorf("%s: %w", message, &os.PathError{Op: "read", Path: path, Err: number})
}

// file is an io.ReaderAt of a file of an image.
type file struct{ handle *C.sinterfs_file }

func (f file) ReadAt(to []byte, offset int64) (int, error) {
	if len(to) == 0 {
		return 0, nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	room, size := unsafe.Pointer(&to[0]), C.size_t(len(to))
	count := C.sinterfs_read_at(f.handle, C.uint64_t(offset), room, size)
	switch {
	case count < 0:
		return 0, failure("")
	case int(count) < len(to):
		return int(count), io.EOF
	}
	return int(count), nil
}

func count(image *C.sinterfs_image, path *C.char, size int64) (int64, error) {
	handle := C.sinterfs_open_file(image, path)
	if handle == nil {
		return 0, failure(C.GoString(path))
	}
	defer C.sinterfs_close_file(handle)
	return io.Copy(io.Discard, io.NewSectionReader(file{handle}, 0, size))
}

func run(name string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	image := C.sinterfs_open(path, nil)
	if image == nil {
		return failure(name)
	}
	defer C.sinterfs_close(image)
	root := C.CString("/")
	defer C.free(unsafe.Pointer(root))
	list := C.sinterfs_walk(image, root)
	if list == nil {
		return failure("/")
	}
	defer C.sinterfs_close_list(list)
	var entry C.sinterfs_entry
	var attributes C.sinterfs_attributes
	for {
		switch C.sinterfs_next(list, &entry) {
		case 0:
			return nil
		case 1:
		default:
			return failure("/")
		}
		if C.sinterfs_entry_stat(list, &attributes) != 0 {
			return failure(C.GoString(entry.path))
		}
		bytes := int64(0)
		if entry.file_type == syscall.S_IFREG {
			read, err := count(image, entry.path, int64(attributes.size))
			if err != nil {
				return err
			}
			bytes = read
		}
		fmt.Printf("%d %s\n", bytes, C.GoString(entry.path))
	}
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: list IMAGE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
