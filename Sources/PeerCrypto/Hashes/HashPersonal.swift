/// What a hash is for: sixteen bytes that keep hashes made for different purposes from ever being equal.
package struct HashPersonal: Sendable {
    /// The sixteen bytes, as they lie in memory.
    let words: (UInt64, UInt64)

    /// Makes the personalisation from at most sixteen ASCII characters, padded with zeros.
    package init(_ name: StaticString) {
        precondition(
            name.hasPointerRepresentation && name.isASCII && name.utf8CodeUnitCount <= Self.byteCount,
            "a personalisation is at most sixteen ASCII characters"
        )
        var words: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { words in
            words.copyMemory(from: UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        }
        self.words = words
    }

    /// The length of a personalisation.
    package static let byteCount = 16
}
