//! Methods of [`Image`](crate::Image) that a wrapper leaves to the image inside it.
//!
//! A wrapper that changes one answer would repeat nine others word for word, and a method with a
//! default that is forgotten there (`release`) loses its meaning without a message.

/// Implements methods of [`Image`](crate::Image) by calling the methods of a field of the wrapper,
/// inside its `impl Image for ...`. The field may be a reference, a `Box` or an `Arc` of an image.
///
/// ```
/// use sinterfs_model::{Image, Ino, Result, Xattrs};
///
/// struct WithoutXattrs<'a> {
///     image: &'a dyn Image,
/// }
///
/// impl Image for WithoutXattrs<'_> {
///     sinterfs_model::delegate_image!(
///         image: info, inode, read_dir, lookup, parent, read_link, extents, read_at, release
///     );
///
///     fn xattrs(&self, _: Ino) -> Result<Xattrs> {
///         Ok(Xattrs::new())
///     }
/// }
/// ```
#[macro_export]
macro_rules! delegate_image {
    ($image:tt: $($method:ident),+ $(,)?) => {
        $($crate::delegate_image!(@$method $image);)+
    };
    (@info $image:tt) => {
        fn info(&self) -> &$crate::ImageInfo {
            self.$image.info()
        }
    };
    (@inode $image:tt) => {
        fn inode(&self, ino: $crate::Ino) -> $crate::Result<$crate::Inode> {
            self.$image.inode(ino)
        }
    };
    (@read_dir $image:tt) => {
        fn read_dir(
            &self,
            dir: $crate::Ino,
            from: $crate::Cursor,
            visit: &mut dyn FnMut($crate::Dirent<'_>) -> ::std::ops::ControlFlow<()>,
        ) -> $crate::Result<()> {
            self.$image.read_dir(dir, from, visit)
        }
    };
    (@lookup $image:tt) => {
        fn lookup(
            &self,
            dir: $crate::Ino,
            name: &[u8],
        ) -> $crate::Result<::std::option::Option<$crate::Ino>> {
            self.$image.lookup(dir, name)
        }
    };
    (@parent $image:tt) => {
        fn parent(&self, dir: $crate::Ino) -> $crate::Result<$crate::Ino> {
            self.$image.parent(dir)
        }
    };
    (@read_link $image:tt) => {
        fn read_link(&self, ino: $crate::Ino) -> $crate::Result<::std::vec::Vec<u8>> {
            self.$image.read_link(ino)
        }
    };
    (@extents $image:tt) => {
        fn extents(
            &self,
            ino: $crate::Ino,
            from: u64,
            visit: &mut dyn FnMut($crate::Extent) -> ::std::ops::ControlFlow<()>,
        ) -> $crate::Result<()> {
            self.$image.extents(ino, from, visit)
        }
    };
    (@read_at $image:tt) => {
        fn read_at(
            &self,
            ino: $crate::Ino,
            offset: u64,
            buf: &mut [u8],
        ) -> $crate::Result<usize> {
            self.$image.read_at(ino, offset, buf)
        }
    };
    (@release $image:tt) => {
        fn release(&self, block: u64) {
            self.$image.release(block);
        }
    };
    (@xattrs $image:tt) => {
        fn xattrs(&self, ino: $crate::Ino) -> $crate::Result<$crate::Xattrs> {
            self.$image.xattrs(ino)
        }
    };
}
