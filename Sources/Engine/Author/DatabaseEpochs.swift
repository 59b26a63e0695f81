package import CRDTCore

/// The epochs of a database: runs of commits between two starts of a program that writes.
///
/// Commits are numbered. A database that was put back, or whose disk lost acknowledged writes, gives the same numbers
/// twice. Each start begins an epoch with a random name, so that a reader who knows the epoch of a commit can tell
/// whether that very commit is still there.
package struct DatabaseEpochs: Hashable, Sendable {
    private struct Epoch: Hashable, Sendable {
        var name: UInt64
        /// Its first commit.
        var start: Int64
    }

    /// In order; none is empty but perhaps the last.
    private var epochs: [Epoch] = []

    /// Older epochs are dropped; their readers get the whole state again.
    private static let countMax = 512

    package init() {}

    /// Reads what `encoded` gives.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        while reader.remaining > 0 {
            let (name, start) = (try reader.bigEndian() as UInt64, Int64(exactly: try reader.varint()))
            guard let start, self.epochs.last.map({ $0.start < start }) ?? true else { throw .notCanonical }
            self.epochs.append(Epoch(name: name, start: start))
        }
    }

    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for epoch in self.epochs {
            bytes.appendBigEndian(epoch.name)
            bytes.appendVarint(UInt64(epoch.start))
        }
        return bytes
    }

    /// Begins an epoch behind the last commit, with a name drawn at random.
    package mutating func begin(_ name: UInt64, after last: Int64) {
        while let epoch = self.epochs.last, epoch.start > last { self.epochs.removeLast() }
        if self.epochs.count >= Self.countMax { self.epochs.removeFirst() }
        self.epochs.append(Epoch(name: name, start: last + 1))
    }

    /// The epoch of a commit; nil if there is none yet.
    package func epoch(of commit: Int64) -> Bytes16? {
        let epoch = self.epochs.last { $0.start <= commit } ?? self.epochs.first
        return epoch.map { Bytes16(high: $0.name, low: UInt64($0.start)) }
    }

    /// Returns whether the commit is there that a reader has seen in an epoch.
    ///
    /// `last`: the last commit of all.
    package func holds(_ commit: Int64, of epoch: Bytes16, last: Int64) -> Bool {
        guard let position = self.epochs.firstIndex(where: { Bytes16(high: $0.name, low: UInt64($0.start)) == epoch })
        else { return false }
        return commit <= (position + 1 < self.epochs.count ? self.epochs[position + 1].start - 1 : last)
    }
}
