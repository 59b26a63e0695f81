internal import CSodium

extension Blake2b {
    /// BLAKE2b-256 over a message that comes in pieces.
    ///
    /// A plain value: a copy goes on independently from where the original was.
    package struct Hasher256: Sendable {
        private var state: csodium_blake2b_state

        /// Begins a message.
        package init(_ personal: HashPersonal) {
            Sodium.requireReady()
            self.state = csodium_blake2b_state()
            withUnsafeBytes(of: personal.words) { personal in
                csodium_blake2b_init(&self.state, MemoryLayout<Digest256>.size, personal.bytePointer!)
            }
        }

        /// Takes the next piece of the message.
        package mutating func update(_ piece: UnsafeRawBufferPointer) {
            csodium_blake2b_update(&self.state, piece.bytePointer, piece.count)
        }

        /// Takes the next piece of the message.
        package mutating func update(_ piece: [UInt8]) {
            piece.withUnsafeBytes { self.update($0) }
        }

        /// The digest of all pieces so far; the hasher is used up.
        package consuming func finalize() -> Digest256 {
            var digest: Digest256 = (0, 0, 0, 0)
            withUnsafeMutableBytes(of: &digest) { output in
                csodium_blake2b_final(&self.state, output.bytePointer!, output.count)
            }
            return Blake2b.fromLittleEndian(digest)
        }
    }
}
