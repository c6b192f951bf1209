//! `sinter convert`: writes an image or an archive as an image of another format, or with other
//! settings; container images are written by `extract`.

use std::process::ExitCode;

use sinterfs::Result;
use sinterfs::build::Input;

use super::make_image::MakeImageArgs;
use crate::args::input::ImageArgs;

/// Convert an image or an archive to an image of another format, without unpacking it to disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter convert live.squashfs -o live.dwarfs
      Convert an image; the format follows from the extension.
  sinter convert tool.AppImage -o tool.dwarfs -l9
      Convert the image behind a header.
  sinter convert old.dwarfs -o - -f dwarfs | ssh host 'cat > new.dwarfs'
      Write to a pipe.
  sinter convert in.dwarfs -o out.dwarfs --strict
      Fail if anything cannot be stored.
  sinter convert in.dwarfs -o oci:layout:latest
      Write a container image, with the options of `sinter extract --oci`.

Converts any image that sinter reads to any format that it writes. Names, permissions, owners, \
times, devices, hard links, holes and extended attributes are kept as far as the new format \
supports them; losses are reported, and an error with --strict. If content is damaged, nothing is \
written; damaged inodes and directories are named and left out, and the exit code is 1.

Each block of the image is decoded once, in memory and in temporary files. To change an image \
within its format, `sinter recompress` is faster. SOURCE_DATE_EPOCH, if set, is recorded as the \
time of creation, and no file gets a later time.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    #[command(flatten)]
    make: MakeImageArgs,
}

/// Converts.
pub fn run(args: Args) -> Result<ExitCode> {
    let options = args.image.options();
    let open = args.image.remote.open_options();
    let input = match Input::of(&args.image.image, &options)? {
        // a directory cannot be converted: opening it as an image fails with a message
        Input::Directory(path) => Input::Image { path, options },
        input => input,
    };
    args.make.run(input, |request, _| request.open = open)
}
