extension ChaChaPoly {
    /// Encrypts the end of `message`, from `offset` on, where it lies, and appends the tag.
    ///
    /// - Returns: Whether it was done: false where the key has the wrong length, or there is no such offset.
    package static func sealInPlace(
        _ message: inout [UInt8],
        from offset: Int,
        authenticating associatedData: RawSpan,
        counter: UInt64,
        key: borrowing SecretBytes
    ) -> Bool {
        guard message.indices.contains(offset) || offset == message.count else { return false }
        let plaintextCount = message.count - offset
        message.append(contentsOf: repeatElement(0, count: Self.tagByteCount))
        return message.withUnsafeMutableBytes { message in
            let output = UnsafeMutableRawBufferPointer(rebasing: message[offset...])
            return associatedData.withUnsafeBytes { associatedData in
                Self.seal(
                    UnsafeRawBufferPointer(rebasing: output[..<plaintextCount]),
                    into: output,
                    authenticating: associatedData,
                    counter: counter,
                    key: key
                )
            }
        }
    }

    /// Decrypts a ciphertext with its tag and appends the plaintext to `output`.
    ///
    /// - Returns: Whether the tag was good. Otherwise nothing is appended.
    package static func open(
        _ sealed: RawSpan,
        appendingTo output: inout [UInt8],
        authenticating associatedData: RawSpan,
        counter: UInt64,
        key: borrowing SecretBytes
    ) -> Bool {
        guard sealed.byteCount >= Self.tagByteCount else { return false }
        let plaintextCount = sealed.byteCount - Self.tagByteCount
        func open(into room: UnsafeMutableRawBufferPointer) -> Bool {
            sealed.withUnsafeBytes { sealed in
                associatedData.withUnsafeBytes { associatedData in
                    Self.open(sealed, into: room, authenticating: associatedData, counter: counter, key: key)
                }
            }
        }
        // Appending nothing to an empty array would write to the storage that all empty arrays share.
        guard plaintextCount > 0 else { return open(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
        var isGood = false
        output.append(addingCapacity: plaintextCount) { span in
            span.withUnsafeMutableBufferPointer { room, initializedCount in
                // There may be more room than was asked for.
                let room = UnsafeMutableBufferPointer(rebasing: room[..<plaintextCount])
                isGood = open(into: UnsafeMutableRawBufferPointer(room))
                initializedCount = isGood ? plaintextCount : 0
            }
        }
        return isGood
    }
}
