//! cpio: the format `newc` of SVR4, which Linux's initramfs has. Spec: cpio(5), "New ASCII Format";
//! Linux' Documentation/driver-api/early-userspace/buffer-format.rst.

pub mod read;
pub mod write;
