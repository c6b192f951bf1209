//! The positions of some groups: dealt out in one walk over the bytes, stretch by stretch.
//!
//! In: for each position of a stretch its group. Out: for each group its positions in order, as
//! distances from one to the next, which take two bytes.
//!
//! **Invariant:** stretches are dealt apart from each other, so that several threads share a block;
//! what comes out depends neither on them nor on where stretches end.

/// The distances in each chunk of a group's chain.
const CHUNK: usize = 128;

/// A distance that does not end at a position.
const FAR: u16 = u16::MAX;

/// The start of a stream of nothing.
const NOWHERE: u32 = u32::MAX;

/// The positions of groups in one stretch.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The position where the stretch starts.
    start: u32,
    streams: Vec<Stream>,
    distances: Vec<u16>,
    /// For each chunk where the one starts that goes on.
    next: Vec<u32>,
}

/// Where the distances of a group are.
#[derive(Debug, Clone, Copy)]
struct Stream {
    start: u32,
    end: u32,
    /// The last position that was written.
    last: u32,
}

impl Streams {
    /// Starts again on a stretch of `len` positions, for `groups` groups.
    pub(super) fn start(&mut self, start: usize, len: usize, groups: usize) {
        self.start = start as u32;
        self.streams.clear();
        let nothing = Stream {
            start: NOWHERE,
            end: 0,
            last: self.start,
        };
        self.streams.resize(groups, nothing);
        self.next.clear();
        // new memory: pages that nothing is written to take none, and stretches differ in use
        self.distances = Vec::new();
        self.distances.reserve(len + groups * CHUNK);
    }

    /// Adds a position after all others, if its group is one of those that are dealt.
    #[inline(always)]
    pub(super) fn add(&mut self, group: usize, position: usize) {
        let Some(stream) = self.streams.get_mut(group) else {
            return;
        };
        let mut distance = position as u32 - stream.last;
        stream.last = position as u32;
        while distance >= u32::from(FAR) {
            stream.push(FAR, &mut self.distances, &mut self.next);
            distance -= u32::from(FAR);
        }
        stream.push(distance as u16, &mut self.distances, &mut self.next);
    }

    /// Returns the first distances of a group, and where those are that follow.
    fn first(&self, group: usize) -> (&[u16], u32) {
        match self.streams[group].start {
            NOWHERE => (&[], NOWHERE),
            start => self.chunk(group, start),
        }
    }

    fn chunk(&self, group: usize, start: u32) -> (&[u16], u32) {
        let (from, end) = (start as usize, self.streams[group].end as usize);
        match end.checked_sub(from) {
            Some(len) if len <= CHUNK => (&self.distances[from..end], NOWHERE),
            _ => {
                let next = self.next[from / CHUNK];
                (&self.distances[from..from + CHUNK], next)
            }
        }
    }
}

impl Stream {
    #[inline(always)]
    fn push(&mut self, distance: u16, distances: &mut Vec<u16>, next: &mut Vec<u32>) {
        if (self.end as usize).is_multiple_of(CHUNK) {
            let fresh = distances.len() as u32;
            distances.resize(distances.len() + CHUNK, 0);
            next.push(NOWHERE);
            match self.start {
                NOWHERE => self.start = fresh,
                _ => next[self.end as usize / CHUNK - 1] = fresh,
            }
            self.end = fresh;
        }
        distances[self.end as usize] = distance;
        self.end += 1;
    }
}

/// The positions of a group that were not taken yet.
#[derive(Debug)]
pub(super) struct Positions<'a> {
    group: usize,
    /// The stretch that distances come from, and those after it.
    stretch: Option<&'a Streams>,
    stretches: std::slice::Iter<'a, Streams>,
    distances: &'a [u16],
    next: u32,
    position: u32,
}

impl<'a> Positions<'a> {
    /// Makes the positions of a group of those that were dealt.
    pub(super) fn new(stretches: &'a [Streams], group: usize) -> Self {
        Self {
            group,
            stretch: None,
            stretches: stretches.iter(),
            distances: &[],
            next: NOWHERE,
            position: 0,
        }
    }

    /// Appends positions until there are `most`, or none is left.
    pub(super) fn fill(&mut self, positions: &mut Vec<u32>, most: usize) {
        while positions.len() < most && (!self.distances.is_empty() || self.next_distances()) {
            let count = self.distances.len().min(most - positions.len());
            let (distances, rest) = self.distances.split_at(count);
            self.distances = rest;
            for &distance in distances {
                self.position += u32::from(distance);
                if distance != FAR {
                    positions.push(self.position);
                }
            }
        }
    }

    /// Goes on to the next distances; returns whether there were any.
    fn next_distances(&mut self) -> bool {
        if let (Some(stretch), false) = (self.stretch, self.next == NOWHERE) {
            (self.distances, self.next) = stretch.chunk(self.group, self.next);
            return true;
        }
        self.stretch = self.stretches.next();
        if let Some(stretch) = self.stretch {
            self.position = stretch.start;
            (self.distances, self.next) = stretch.first(self.group);
        }
        self.stretch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back_in_order() {
        let positions: [Vec<u32>; 3] = [
            (0..300_000).filter(|at| at % 3 == 1).collect(),
            vec![0, 65_535, 131_069, 131_070, 299_999],
            Vec::new(),
        ];
        let stretches: Vec<Streams> = (0..300_000)
            .step_by(100_000)
            .map(|start| {
                let mut streams = Streams::default();
                // its former use does not matter
                for start in [start, 7, start] {
                    streams.start(start, 100_000, positions.len());
                    for at in start..start + 100_000 {
                        for (group, positions) in positions.iter().enumerate() {
                            if positions.binary_search(&(at as u32)).is_ok() {
                                streams.add(group, at);
                            }
                        }
                        streams.add(positions.len(), at);
                    }
                }
                streams
            })
            .collect();
        for (group, positions) in positions.iter().enumerate() {
            for most in [1, 100, 1 << 20] {
                let mut left = Positions::new(&stretches, group);
                let (mut all, mut part) = (Vec::new(), Vec::new());
                loop {
                    left.fill(&mut part, most);
                    if part.is_empty() {
                        break;
                    }
                    all.append(&mut part);
                }
                assert!(all == *positions, "group {group}, {most} at a time");
            }
        }
    }
}
