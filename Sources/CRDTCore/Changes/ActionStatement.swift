/// Says to which action of which program a change belongs: the last operation of the change.
///
/// An action is what somebody did in one go, and what an undo takes back in one. Without a statement, a change is an
/// action by itself, of the program that made the change before it in its chain; a chain begins with those of the
/// program that has no name.
package struct ActionStatement: Hashable, Sendable {
    /// The name of the program; empty for the one that has none.
    package var label: String
    /// The stamp of its author's change with which the action began, in whatever circle; nil if it begins here.
    package var start: Stamp?
    /// Whether the change is of one transaction with the one of its action that its author has written right before,
    /// in another circle.
    package var isPart: Bool

    package init(label: String, start: Stamp? = nil, isPart: Bool = false) {
        (self.label, self.start, self.isPart) = (label, start, isPart && start != nil)
    }

    /// Appends the canonical bytes.
    func encode(to bytes: inout [UInt8]) {
        bytes.appendPrefixed(self.label)
        if let start = self.start { bytes.appendBigEndian(start.rawValue) }
        if self.isPart { bytes.append(1) }
    }

    /// Reads a statement that fills all of `payload`.
    init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.label = try reader.text(atMost: Limits.labelByteCountMax)
        self.isPart = false
        if reader.remaining > 0 { self.start = Stamp(rawValue: try reader.bigEndian()) }
        if reader.remaining > 0 {
            guard try reader.byte() == 1 else { throw .badInteger }
            self.isPart = true
        }
        try reader.finish()
    }
}
