//! Building images: of directories, archives, lists of files, other images, or several of these.
//!
//! [`crate::Builder`] is the short way. A front end that offers every option fills a
//! [`BuildRequest`]; an option that the format does not have is refused by its name
//! ([`crate::Setting`]), never ignored.

pub use crate::about::FormatInfo;
pub use crate::formats::formats;
pub use crate::output::destination::{Destination, OutputFile};
pub use crate::output::naming::is_same_file;
pub use crate::output::new_file::{NewFile, write_new};
pub use crate::write::attributes::{AttributeChanges, RootChanges};
pub use crate::write::build::{build, reports_digest};
pub use crate::write::builder::Builder;
pub use crate::write::device::compress_device;
pub use crate::write::device_options::{DeviceCodec, DeviceOptions, DeviceReport};
pub use crate::write::filters::Filter;
pub use crate::write::format_options::{
    CramfsOptions, DwarfsOptions, ErofsOptions, FormatOptions, Iso9660Options, SquashfsOptions,
    WimOptions,
};
pub use crate::write::header::{HeaderSource, MountingProgram, NewHeader};
pub use crate::write::input::kinds::{Input, Layering, ManifestOptions, MergePart, Whiteouts};
pub use crate::write::recompress::recompress;
pub use crate::write::recompress_request::{RecompressParts, RecompressReport, RecompressRequest};
pub use crate::write::report::{BuildReport, ObjectsReport, PipelineReport};
pub use crate::write::request::{BuildRequest, ComposefsOptions};

pub use sinterfs_format::{PerFileOptions, Purpose, VolumeOptions};
pub use sinterfs_model::{Categorizers, Order, ReadCost};
pub use sinterfs_model::{Loss, LossKind, Summary, TailPlacement};
pub use sinterfs_source::archive::ImpliedDirectories;
pub use sinterfs_source::merge::{Conflict, Conflicts};
pub use sinterfs_source::{Action, IdsByName, LayerMarks, Shard, XattrFilter};
