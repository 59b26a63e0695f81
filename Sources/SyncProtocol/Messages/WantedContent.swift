package import CRDTCore

/// Some places of operations in a change, as few ranges.
///
/// Of very scattered places more are named than were meant: whoever gets them uses what it needs.
package struct OperationRanges: Hashable, Sendable {
    /// Ascending, with a gap between any two.
    package private(set) var all: [ClosedRange<UInt32>] = []

    /// `places`: in ascending order.
    package init(_ places: some Sequence<UInt32>) {
        for place in places { self.add(place...place) }
    }

    /// Adds a range that begins no earlier than the last one.
    private mutating func add(_ range: ClosedRange<UInt32>) {
        guard let last = self.all.last else {
            self.all = [range]
            return
        }
        let isFull = self.all.count == MessageLimits.wantedRangeCountMax
        if isFull || range.lowerBound <= last.upperBound || range.lowerBound - last.upperBound == 1 {
            self.all[self.all.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
        } else {
            self.all.append(range)
        }
    }

    package func contains(_ place: Int) -> Bool {
        UInt32(exactly: place).map { place in self.all.contains { $0.contains(place) } } ?? false
    }

    package mutating func formUnion(_ other: OperationRanges) {
        let ranges = (self.all + other.all).sorted { $0.lowerBound < $1.lowerBound }
        self.all = []
        for range in ranges { self.add(range) }
    }

    /// Appends the canonical bytes.
    func encode(to bytes: inout [UInt8]) {
        bytes.appendVarint(UInt64(self.all.count))
        var end: UInt32 = 0
        for range in self.all {
            bytes.appendVarint(UInt64(range.lowerBound - end))
            bytes.appendVarint(UInt64(range.upperBound - range.lowerBound))
            end = range.upperBound
        }
    }

    /// At least one range.
    init(decoding reader: inout ByteReader) throws(WireError) {
        let count = try reader.count(atMost: MessageLimits.wantedRangeCountMax)
        guard count > 0 else { throw .notCanonical }
        for _ in 0..<count {
            let start = self.all.last.map { Int($0.upperBound) } ?? 0
            let first = start + (try reader.count(atMost: Limits.changeOperationCountMax))
            guard self.all.isEmpty || first > start + 1 else { throw .notCanonical }
            let last = first + (try reader.count(atMost: Limits.changeOperationCountMax))
            guard last < Limits.changeOperationCountMax else { throw .overLimit }
            self.all.append(UInt32(first)...UInt32(last))
        }
    }
}

/// Writes of a change whose content is wanted.
package struct WantedContent: Hashable, Sendable {
    package var change: FrontierEntry
    package var places: OperationRanges

    package init(change: FrontierEntry, places: OperationRanges) { (self.change, self.places) = (change, places) }
}
