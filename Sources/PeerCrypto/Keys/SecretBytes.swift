internal import CSodium

/// Bytes that are overwritten when their owner goes away.
///
/// It cannot be copied by accident, compares in constant time, and has no description.
///
/// Ordinary memory is used, not libsodium's guarded pages: these cost four system calls and three pages a key, and a
/// process holds many keys.
// Sendable is sound: the allocation has exactly this one owner, which cannot be copied, and only exclusive access
// (`mutating`, `init`, `deinit`) writes to it.
package struct SecretBytes: ~Copyable, @unchecked Sendable {
    private let storage: UnsafeMutableRawBufferPointer

    /// Makes room for secret bytes, zeroed, and lets the caller write them.
    package init(count: Int, initializingWith write: (UnsafeMutableRawBufferPointer) -> Void) {
        Sodium.requireReady()
        self.storage = .allocate(byteCount: count, alignment: 16)
        self.storage.initializeMemory(as: UInt8.self, repeating: 0)
        write(self.storage)
    }

    /// Copies bytes from elsewhere; the copy elsewhere remains the caller's concern.
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Copies bytes from elsewhere; the copy elsewhere remains the caller's concern.
    package init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }

    deinit {
        sodium_memzero(self.storage.baseAddress!, self.storage.count)
        self.storage.deallocate()
    }
}

extension SecretBytes {
    /// The number of bytes.
    package var count: Int { self.storage.count }

    /// Lends the bytes; the pointer must not leave the closure.
    @inline(__always)
    package func withBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(self.storage))
    }

    /// Lends the bytes for change; the pointer must not leave the closure.
    @inline(__always)
    package mutating func withMutableBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.storage)
    }

    /// A second, independent owner of the same bytes.
    package func duplicate() -> SecretBytes {
        self.withBytes { SecretBytes($0) }
    }

    /// A copy of a part, or nil where the part reaches beyond the end.
    package func part(offset: Int, count: Int) -> SecretBytes? {
        guard offset >= 0, count >= 0, offset <= self.count, count <= self.count - offset else { return nil }
        return self.withBytes { SecretBytes(UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count])) }
    }

    /// Whether both hold the same bytes, in a time that depends only on the lengths.
    package func isEqual(to other: borrowing SecretBytes) -> Bool {
        self.withBytes { mine in other.withBytes { theirs in ConstantTime.areEqual(mine, theirs) } }
    }

    @inline(__always)
    var bytePointer: UnsafePointer<UInt8> {
        UnsafeRawBufferPointer(self.storage).bytePointer!
    }
}
