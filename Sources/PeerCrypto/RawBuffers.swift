/// The pointers that libsodium's functions take.
extension UnsafeRawBufferPointer {
    @inline(__always)
    var bytePointer: UnsafePointer<UInt8>? {
        self.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}

extension UnsafeMutableRawBufferPointer {
    @inline(__always)
    var bytePointer: UnsafeMutablePointer<UInt8>? {
        self.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}
