package import CRDTCore

/// The eras of a database: runs of commits between two starts of a program that writes.
///
/// Commits are numbered. A database that was put back, or whose disk lost acknowledged writes, gives the same numbers
/// twice. Each start begins an era with a random name, so that a reader who knows the era of a commit can tell whether
/// that very commit is still there.
package struct DatabaseHistory: Hashable, Sendable {
    private struct Era: Hashable, Sendable {
        var name: UInt64
        /// Its first commit.
        var start: Int64
    }

    /// In order; none is empty but perhaps the last.
    private var eras: [Era] = []

    /// Older eras are dropped; their readers get the whole state again.
    private static let countMax = 512

    package init() {}

    /// Nil if the bytes are none that `encoded` gives.
    package init?(decoding bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        do throws(WireError) {
            while reader.remaining > 0 {
                let (name, start) = (try reader.bigEndian() as UInt64, Int64(exactly: try reader.varint()))
                guard let start, self.eras.last.map({ $0.start < start }) ?? true else { return nil }
                self.eras.append(Era(name: name, start: start))
            }
        } catch {
            return nil
        }
    }

    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        for era in self.eras {
            bytes.appendBigEndian(era.name)
            bytes.appendVarint(UInt64(era.start))
        }
        return bytes
    }

    /// Begins an era behind the last commit, with a name drawn at random.
    package mutating func begin(_ name: UInt64, after last: Int64) {
        while let era = self.eras.last, era.start > last { self.eras.removeLast() }
        if self.eras.count >= Self.countMax { self.eras.removeFirst() }
        self.eras.append(Era(name: name, start: last + 1))
    }

    /// The era of a commit; nil if there is none yet.
    package func era(of commit: Int64) -> Bytes16? {
        let era = self.eras.last { $0.start <= commit } ?? self.eras.first
        return era.map { Bytes16(high: $0.name, low: UInt64($0.start)) }
    }

    /// Returns whether the commit is there that a reader has seen in an era.
    ///
    /// `last`: the last commit of all.
    package func holds(_ commit: Int64, of era: Bytes16, last: Int64) -> Bool {
        guard let position = self.eras.firstIndex(where: { Bytes16(high: $0.name, low: UInt64($0.start)) == era })
        else { return false }
        return commit <= (position + 1 < self.eras.count ? self.eras[position + 1].start - 1 : last)
    }
}
