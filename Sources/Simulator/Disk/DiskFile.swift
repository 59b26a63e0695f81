/// One file of a simulated disk: what the operating system shows of it, and what a power cut would leave.
final class DiskFile {
    /// What a reader sees.
    private(set) var content: [UInt8]
    /// What is on the platter for certain.
    private var durable: [UInt8]
    /// What was written since it was last synced, in order.
    private var pending: [Change] = []
    /// Whether a sync was said to be done that was not.
    var owesSync = false

    private enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(byteCount: Int)
    }

    /// A disk keeps or loses this many bytes of a write as one.
    private static let sectorByteCount = 512

    init(content: [UInt8] = []) {
        self.content = content
        self.durable = content
    }

    /// Whether a power cut could lose something.
    var hasUnsyncedChanges: Bool { !self.pending.isEmpty }

    /// Copies bytes out; what lies beyond the end is left as it is.
    ///
    /// - Returns: How many bytes there were.
    func read(into target: UnsafeMutableRawBufferPointer, from offset: Int) -> Int {
        guard offset < self.content.count else { return 0 }
        let count = min(target.count, self.content.count - offset)
        self.content.withUnsafeBytes { source in
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<offset + count]))
        }
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        DiskFile.write(bytes, at: offset, to: &self.content)
        self.pending.append(.write(offset: offset, bytes: Array(bytes)))
    }

    func truncate(to byteCount: Int) {
        DiskFile.truncate(&self.content, to: byteCount)
        self.pending.append(.truncate(byteCount: byteCount))
    }

    /// Everything written so far is on the platter.
    func sync() {
        for change in self.pending { DiskFile.apply(change, to: &self.durable) }
        self.pending = []
        self.owesSync = false
    }

    /// Changes one bit where it lies, as decay does: without a write.
    func flipBit(_ bit: Int, at offset: Int) {
        guard offset < self.content.count else { return }
        self.content[offset] ^= 1 << UInt8(bit & 7)
        if offset < self.durable.count { self.durable[offset] = self.content[offset] }
    }

    /// The power goes: of what was not synced, `outcome` decides what remains.
    ///
    /// - Returns: Whether anything was lost.
    func losePower(_ outcome: PowerLoss, _ random: inout LossGenerator) -> Bool {
        let unsynced = self.pending
        let kept = outcome == .losesTail ? random.below(unsynced.count + 1) : 0
        var lost = false
        for (position, change) in unsynced.enumerated() {
            switch outcome {
            case .keepsAll: DiskFile.apply(change, to: &self.durable)
            case .losesAll: lost = true
            case .losesTail:
                if position < kept { DiskFile.apply(change, to: &self.durable) } else { lost = true }
            case .losesSome:
                if random.below(2) == 0 { DiskFile.apply(change, to: &self.durable) } else { lost = true }
            case .tears:
                lost = self.tear(change, &random) || lost
            }
        }
        self.pending = []
        self.owesSync = false
        self.content = self.durable
        return lost
    }

    /// Applies only some sectors of a write.
    ///
    /// - Returns: Whether any was left out.
    private func tear(_ change: Change, _ random: inout LossGenerator) -> Bool {
        guard case .write(let offset, let bytes) = change else {
            DiskFile.apply(change, to: &self.durable)
            return false
        }
        var lost = false
        var start = 0
        while start < bytes.count {
            let nextSector = ((offset + start) / DiskFile.sectorByteCount + 1) * DiskFile.sectorByteCount
            let end = min(bytes.count, nextSector - offset)
            if random.below(3) > 0 {
                bytes[start..<end].withUnsafeBytes { DiskFile.write($0, at: offset + start, to: &self.durable) }
            } else {
                lost = true
            }
            start = end
        }
        return lost
    }

    private static func apply(_ change: Change, to content: inout [UInt8]) {
        switch change {
        case .write(let offset, let bytes): bytes.withUnsafeBytes { self.write($0, at: offset, to: &content) }
        case .truncate(let byteCount): self.truncate(&content, to: byteCount)
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, to content: inout [UInt8]) {
        let end = offset + bytes.count
        if content.count < end { content.append(contentsOf: repeatElement(0, count: end - content.count)) }
        content.withUnsafeMutableBytes { target in
            UnsafeMutableRawBufferPointer(rebasing: target[offset..<end]).copyMemory(from: bytes)
        }
    }

    private static func truncate(_ content: inout [UInt8], to byteCount: Int) {
        if byteCount < content.count { content.removeLast(content.count - byteCount) }
    }
}

/// What a power cut does to writes that were not synced.
enum PowerLoss: Int, CaseIterable, Sendable {
    case keepsAll
    case losesAll
    /// Everything after some write is lost.
    case losesTail
    /// Each write is lost or kept by itself, whatever the order.
    case losesSome
    /// Each sector of each write is lost or kept by itself.
    case tears
}
