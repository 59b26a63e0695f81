internal import CSodium

/// Comparisons whose duration tells nothing about the values.
package enum ConstantTime {
    /// Whether two byte strings are equal; only their lengths influence the time taken.
    package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        guard let left = left.bytePointer, let rightStart = right.bytePointer else { return true }
        return sodium_memcmp(left, rightStart, right.count) == 0
    }

    /// Whether two byte strings are equal; only their lengths influence the time taken.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { right in Self.areEqual(left, right) } }
    }
}
