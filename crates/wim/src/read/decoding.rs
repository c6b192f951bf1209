//! Decodes chunks.
//!
//! In: the location of a chunk. Out: its content.
//!
//! **Invariant:** a chunk decodes to its length, or it is an error. A chunk whose stored length
//! equals its decoded length is not compressed.

use sinterfs_block::ReadAt;
use sinterfs_codec::lzx::LzxWindow;
use sinterfs_codec::{lzms, lzx, xpress};
use sinterfs_model::Result;

use super::chunks::{ChunkLocation, Encoding};
use super::damaged::DamagedChunks;
use super::parts::Part;
use crate::layout::WimCodec;

/// Decodes a chunk into `room`, which has its length.
pub(super) fn decode(
    file: &Part,
    encoding: Encoding,
    chunk: ChunkLocation,
    damaged: &DamagedChunks,
    room: &mut [u8],
) -> Result<()> {
    if chunk.stored == chunk.len {
        return file.window.read_at(chunk.at, room);
    }
    let stored = file.window.read(chunk.at, chunk.stored)?;
    damaged.decode(&stored, |stored| match encoding.codec {
        WimCodec::Xpress => xpress::decode(stored, room),
        WimCodec::Lzx => {
            let window = LzxWindow::for_chunk(encoding.chunk_size as usize)?;
            lzx::decode(stored, window, room)
        }
        WimCodec::Lzms => lzms::decode(stored, room),
    })
}
