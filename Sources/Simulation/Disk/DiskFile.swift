/// One file of a simulated disk: what the operating system shows of it, and what a power cut would leave.
///
/// What is on the platter is not kept by itself: each change since the last sync remembers what it replaced. Most
/// writes go to the end of a log and replace nothing, and to sync is to forget.
package final class DiskFile {
    /// What a reader sees.
    package private(set) var content: [UInt8]
    /// What was done since the file was last synced, in order.
    private var pending: [Change] = []
    /// Whether a sync was said to be done that was not.
    var owesSync = false

    /// A write, or a cut to a shorter file, in which nothing is written.
    private struct Change {
        var offset: Int
        var byteCount: Int
        var isCut = false
        /// What stood from the offset on.
        var replaced: [UInt8]
        /// The length of the file before.
        var byteCountBefore: Int
    }

    /// A disk keeps or loses this many bytes of a write as one.
    private static let sectorByteCount = 512

    init(content: [UInt8] = []) { self.content = content }

    /// Whether a power cut could lose something.
    var hasUnsyncedChanges: Bool { !self.pending.isEmpty }

    /// Copies bytes out; what lies beyond the end is left as it is.
    ///
    /// - Returns: How many bytes there were.
    package func read(into target: UnsafeMutableRawBufferPointer, from offset: Int) -> Int {
        guard offset < self.content.count else { return 0 }
        let count = min(target.count, self.content.count - offset)
        self.content.withUnsafeBytes { source in
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<offset + count]))
        }
        return count
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard !bytes.isEmpty else { return }
        let end = min(offset + bytes.count, self.content.count)
        self.pending.append(
            Change(
                offset: offset,
                byteCount: bytes.count,
                replaced: offset < end ? Array(self.content[offset..<end]) : [],
                byteCountBefore: self.content.count
            )
        )
        self.put(bytes, at: offset)
    }

    func truncate(to byteCount: Int) {
        guard byteCount < self.content.count else { return }
        self.pending.append(
            Change(
                offset: byteCount,
                byteCount: 0,
                isCut: true,
                replaced: Array(self.content[byteCount...]),
                byteCountBefore: self.content.count
            )
        )
        self.content.removeSubrange(byteCount...)
    }

    /// Everything written so far is on the platter.
    package func sync() {
        self.pending.removeAll(keepingCapacity: true)
        self.owesSync = false
    }

    /// Changes one bit where it lies, as decay does: without a write.
    func flipBit(_ bit: Int, at offset: Int) {
        guard offset < self.content.count else { return }
        self.content[offset] ^= 1 << UInt8(bit & 7)
        // What the first change there replaced is what lies on the platter.
        for (position, change) in self.pending.enumerated()
        where (change.offset..<change.offset + change.replaced.count).contains(offset) {
            self.pending[position].replaced[offset - change.offset] = self.content[offset]
            return
        }
    }

    /// The power goes: of what was not synced, `outcome` decides what remains.
    ///
    /// - Returns: Whether anything was lost.
    func losePower(_ outcome: PowerLoss, _ random: inout LossGenerator) -> Bool {
        guard outcome != .keepsAll else {
            self.sync()
            return false
        }
        let unsynced = self.takeBackUnsynced()
        let kept = outcome == .losesTail ? random.below(unsynced.count + 1) : 0
        var lost = false
        for (position, (change, bytes)) in unsynced.enumerated() {
            let isKept: Bool
            switch outcome {
            case .keepsAll: isKept = true
            case .losesAll: isKept = false
            case .losesTail: isKept = position < kept
            case .losesSome: isKept = random.below(2) == 0
            case .tears:
                isKept = change.isCut
                if !isKept { lost = self.tear(bytes, at: change.offset, &random) || lost }
            }
            if isKept { self.doAgain(change, bytes) } else if outcome != .tears { lost = true }
        }
        return lost
    }

    /// Leaves what is on the platter, and returns what was done since, with the bytes that were written.
    private func takeBackUnsynced() -> [(Change, [UInt8])] {
        var unsynced: [(Change, [UInt8])] = []
        for change in self.pending.reversed() {
            unsynced.append((change, Array(self.content[change.offset..<change.offset + change.byteCount])))
            if change.isCut {
                self.content += change.replaced
            } else {
                let end = change.offset + change.replaced.count
                self.content.replaceSubrange(change.offset..<end, with: change.replaced)
                self.content.removeSubrange(change.byteCountBefore...)
            }
        }
        self.sync()
        return unsynced.reversed()
    }

    private func doAgain(_ change: Change, _ bytes: [UInt8]) {
        guard change.isCut else { return bytes.withUnsafeBytes { self.put($0, at: change.offset) } }
        if change.offset < self.content.count { self.content.removeSubrange(change.offset...) }
    }

    /// Applies only some sectors of a write.
    ///
    /// - Returns: Whether any was left out.
    private func tear(_ bytes: [UInt8], at offset: Int, _ random: inout LossGenerator) -> Bool {
        var lost = false
        var start = 0
        while start < bytes.count {
            let nextSector = ((offset + start) / DiskFile.sectorByteCount + 1) * DiskFile.sectorByteCount
            let end = min(bytes.count, nextSector - offset)
            if random.below(3) > 0 {
                bytes[start..<end].withUnsafeBytes { self.put($0, at: offset + start) }
            } else {
                lost = true
            }
            start = end
        }
        return lost
    }

    /// Puts bytes into the content, with zeros before them where it ends earlier.
    private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        if self.content.count < offset {
            self.content.append(contentsOf: repeatElement(0, count: offset - self.content.count))
        }
        let end = min(offset + bytes.count, self.content.count)
        self.content.withUnsafeMutableBytes { target in
            let within = UnsafeRawBufferPointer(rebasing: bytes[..<(end - offset)])
            UnsafeMutableRawBufferPointer(rebasing: target[offset..<end]).copyMemory(from: within)
        }
        self.content.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[(end - offset)...]))
    }
}

/// What a power cut does to writes that were not synced; the words are those of scenarios.
package enum PowerLoss: String, CaseIterable, Sendable {
    case keepsAll = "keeps"
    case losesAll = "loses"
    /// Everything after some write is lost.
    case losesTail = "shortens"
    /// Each write is lost or kept by itself, whatever the order.
    case losesSome = "reorders"
    /// Each sector of each write is lost or kept by itself.
    case tears
}
