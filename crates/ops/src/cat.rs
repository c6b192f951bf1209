//! Writes the content of a file to a stream, holes as zeros.
//!
//! **Invariant:** bytes leave in order; memory is `2 * threads` chunks of 1 MiB.

use std::collections::VecDeque;
use std::io::Write;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use sinterfs_model::{Error, FileType, Image, Ino, Result};

const CHUNK: usize = 1 << 20;

type Answer = Result<Vec<u8>>;

/// Writes the content of a file and returns its length; more than one thread reads ahead.
///
/// `Invalid` if it is not a regular file. Content before a damaged block has been written when the
/// error comes.
pub fn cat(image: &dyn Image, ino: Ino, threads: usize, out: &mut dyn Write) -> Result<u64> {
    let inode = image.inode(ino)?;
    if inode.kind != FileType::File {
        return Err(Error::invalid("not a regular file"));
    }
    if threads <= 1 || inode.size <= CHUNK as u64 {
        return cat_alone(image, ino, inode.size, out);
    }
    cat_ahead(image, ino, inode.size, threads, out)
}

fn chunk_at(image: &dyn Image, ino: Ino, size: u64, at: u64, buf: &mut Vec<u8>) -> Result<()> {
    buf.resize(
        usize::try_from(size - at).map_or(CHUNK, |left| left.min(CHUNK)),
        0,
    );
    let mut filled = 0;
    while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match image.read_at(ino, at + filled as u64, rest)? {
            0 => return Err(Error::corrupt("a file ends before its size")),
            count => filled += count,
        }
    }
    Ok(())
}

fn emit(out: &mut dyn Write, data: &[u8]) -> Result<()> {
    out.write_all(data)
        .map_err(|error| Error::io("write failed", error))
}

fn cat_alone(image: &dyn Image, ino: Ino, size: u64, out: &mut dyn Write) -> Result<u64> {
    let mut buf = Vec::new();
    let mut at = 0;
    while at < size {
        chunk_at(image, ino, size, at, &mut buf)?;
        emit(out, &buf)?;
        at += buf.len() as u64;
    }
    Ok(size)
}

fn cat_ahead(
    image: &dyn Image,
    ino: Ino,
    size: u64,
    threads: usize,
    out: &mut dyn Write,
) -> Result<u64> {
    let threads = threads.min(64);
    std::thread::scope(|scope| {
        let (jobs, queue) = unbounded::<(u64, Sender<Answer>)>();
        let started = (0..threads).take_while(|_| {
            let queue = queue.clone();
            let reader = move || {
                for (at, answer) in queue {
                    let mut buf = Vec::new();
                    let read = chunk_at(image, ino, size, at, &mut buf);
                    // after an error the receiver was dropped
                    let _ = answer.send(read.map(|()| buf));
                }
            };
            sinterfs_workers::spawn(scope, "read", reader).is_ok()
        });
        let threads = started.count();
        if threads == 0 {
            return cat_alone(image, ino, size, out);
        }
        // The answers in the order of the file; when this ends, so do the threads.
        let mut pending: VecDeque<Receiver<Answer>> = VecDeque::new();
        let mut asked = 0;
        loop {
            while asked < size && pending.len() < 2 * threads {
                let (answer, receiver) = bounded(1);
                if jobs.send((asked, answer)).is_err() {
                    break;
                }
                pending.push_back(receiver);
                asked += CHUNK as u64;
            }
            let Some(next) = pending.pop_front() else {
                return Ok(size);
            };
            let gone = |_| {
                Error::new(
                    sinterfs_model::Kind::Cancelled,
                    "a reading thread ended early",
                )
            };
            emit(out, &next.recv().map_err(gone)??)?;
        }
    })
}
