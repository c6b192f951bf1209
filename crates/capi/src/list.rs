//! Lists of entries: of a directory, or of everything below one.
//!
//! **Invariant:** the strings of an entry are valid until the list is advanced or closed.

use std::ffi::{CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sinterfs::Image;
use sinterfs::errno::Errno;
use sinterfs::image::{Entries, Entry, Walk};

use crate::attributes::SinterfsAttributes;
use crate::boundary::{close, exclusive, guarded, handle, path as path_of, put, shared};
use crate::failure::{Failure, Outcome};
use crate::image::{SinterfsImage, answer};

/// A list that is read one entry after the other, by one thread at a time.
#[derive(Debug)]
pub struct SinterfsList {
    steps: Steps,
    current: Option<(Entry, CString)>,
}

#[derive(Debug)]
enum Steps {
    Directory(Entries),
    Tree(Box<Walk>),
}

/// An entry of a list. Its strings are valid until the list is advanced or closed.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SinterfsEntry {
    /// The path from the root of the image, without a leading slash.
    pub path: *const c_char,
    /// The name: the end of `path`.
    pub name: *const c_char,
    /// The type, as the bits S_IFMT of `st_mode`.
    pub file_type: u32,
    /// 0.
    pub reserved: u32,
}

/// Lists the entries of a directory, in bytewise order of their names, without "." and "..".
/// Returns NULL on failure, with ENOTDIR for what is no directory.
///
/// # Safety
/// `image` is open; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_list_directory(
    image: *const SinterfsImage,
    path: *const c_char,
) -> *mut SinterfsList {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: as the caller promises
        let (image, path) = unsafe { directory(image, path) }?;
        list(Steps::Directory(image.read_dir(path)?))
    })
}

/// Lists everything below a directory: a directory before its entries, these in bytewise order of
/// their names. Symlinks are not followed. A directory that cannot be read is a failure of
/// `sinterfs_next`; the next call continues after it. Returns NULL on failure.
///
/// # Safety
/// `image` is open; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_walk(
    image: *const SinterfsImage,
    path: *const c_char,
) -> *mut SinterfsList {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: as the caller promises
        let (image, path) = unsafe { directory(image, path) }?;
        list(Steps::Tree(Box::new(image.walk_below(path)?)))
    })
}

/// Advances a list. Returns 1 and writes an entry, or 0 at the end, or -1 on failure.
///
/// # Safety
/// `list` is open; `entry` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_next(
    list: *mut SinterfsList,
    entry: *mut SinterfsEntry,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let list = unsafe { exclusive(list, "list") }?;
        list.current = None;
        let next = match &mut list.steps {
            Steps::Directory(entries) => entries.next(),
            Steps::Tree(walk) => walk.next(),
        };
        let Some(next) = next else { return Ok(0) };
        let shown = list.show(next?)?;
        // SAFETY: as the caller promises
        unsafe { put(entry, shown, "entry") }.map(|()| 1)
    })
}

/// Gets the attributes of the entry that `sinterfs_next` wrote last. Symlinks are not followed.
/// Returns 0 or -1.
///
/// # Safety
/// `list` is open; `attributes` is valid for writing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_entry_stat(
    list: *const SinterfsList,
    attributes: *mut SinterfsAttributes,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        let list = unsafe { shared(list, "list") }?;
        let Some((entry, _)) = &list.current else {
            return Err(Failure::new(Errno::INVAL, "the list is at no entry"));
        };
        // SAFETY: as the caller promises
        unsafe { answer(attributes, &entry.metadata()?) }
    })
}

/// Leaves out what is below the directory that `sinterfs_next` wrote last, in a list of
/// `sinterfs_walk`. Returns 0 or -1.
///
/// # Safety
/// `list` is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_skip_directory(list: *mut SinterfsList) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        match &mut unsafe { exclusive(list, "list") }?.steps {
            Steps::Tree(walk) => walk.skip_directory(),
            Steps::Directory(_) => {
                return Err(Failure::new(Errno::INVAL, "the list is not of a tree"));
            }
        }
        Ok(0)
    })
}

/// Closes a list; `list` may be NULL.
///
/// # Safety
/// `list` is NULL or from `sinterfs_list_directory` or `sinterfs_walk`, and was not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_close_list(list: *mut SinterfsList) {
    // SAFETY: as the caller promises
    unsafe { close(list) };
}

fn list(steps: Steps) -> Outcome<*mut SinterfsList> {
    Ok(handle(SinterfsList {
        steps,
        current: None,
    }))
}

/// Returns an image and the path of a directory of it.
///
/// # Safety
/// `image` is null or open, and `path` null or ended by NUL, during `'a`.
unsafe fn directory<'a>(
    image: *const SinterfsImage,
    path: *const c_char,
) -> Outcome<(&'a Image, &'a Path)> {
    // SAFETY: as the caller promises
    let (image, path) = unsafe { (shared(image, "image")?, path_of(path)?) };
    if !image.image.metadata(path)?.is_dir() {
        let what = format!("{}: not a directory", path.display());
        return Err(Failure::new(Errno::NOTDIR, what));
    }
    Ok((&image.image, path))
}

impl SinterfsList {
    /// Keeps an entry and shows it.
    fn show(&mut self, entry: Entry) -> Outcome<SinterfsEntry> {
        let path = entry.path().as_os_str().as_bytes();
        let name = entry.name().len();
        let file_type = entry.file_type().bits();
        let path = CString::new(path).map_err(|_| {
            let shown = OsStr::from_bytes(path).display();
            Failure::new(Errno::IO, format!("{shown}: corrupt image: NUL in a name"))
        })?;
        let bytes = path.as_bytes_with_nul();
        let name = bytes.get(bytes.len().saturating_sub(name + 1)..);
        let shown = SinterfsEntry {
            path: path.as_ptr(),
            name: name.unwrap_or(bytes).as_ptr().cast(),
            file_type,
            reserved: 0,
        };
        self.current = Some((entry, path));
        Ok(shown)
    }
}
