/// Says to which action of which program a change belongs: the last operation of the change.
///
/// An action is what somebody did in one go, and what an undo takes back in one. Without a statement, a change is an
/// action by itself, of the program that made the change before it in its chain; a chain begins with those of the
/// program that has no name.
package struct ActionStatement: Hashable, Sendable {
    /// The name of the program; empty for the one that has none.
    package var label: String
    /// How many changes earlier in the chain the action began; 0 if it begins here.
    package var distance: UInt64

    package init(label: String, distance: UInt64) { (self.label, self.distance) = (label, distance) }

    /// Appends the canonical bytes.
    func encode(to bytes: inout [UInt8]) {
        bytes.appendVarint(self.distance)
        bytes.appendPrefixed(self.label)
    }

    /// Reads a statement that fills all of `payload`.
    init(decoding payload: ArraySlice<UInt8>) throws(WireError) {
        var reader = ByteReader(Array(payload))
        self.distance = try reader.varint()
        guard self.distance <= Limits.sequenceMax else { throw .overLimit }
        self.label = try reader.text(atMost: Limits.labelByteCountMax)
        try reader.finish()
    }
}
