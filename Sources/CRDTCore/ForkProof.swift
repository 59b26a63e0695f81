/// Proof that a device signed two different changes with one dot: two chains of headers that part after a common
/// change, each up to a signed one.
package struct ForkProof: Hashable, Sendable {
    /// One of the two chains: its headers from the disputed sequence on, and the signature of the last.
    package struct Branch: Hashable, Sendable {
        package var headers: [[UInt8]]
        package var signature: Signature

        package init(headers: [[UInt8]], signature: Signature) {
            self.headers = headers
            self.signature = signature
        }
    }

    /// Whose chain forks: its introduction, from which the device's key and the replica's id follow.
    package var introduction: Introduction
    package var first: Branch
    package var second: Branch

    package init(introduction: Introduction, first: Branch, second: Branch) {
        self.introduction = introduction
        self.first = first
        self.second = second
    }

    /// Header bytes of one change are at most this many.
    package static let headerByteCountMax = 1 << 19
    /// Bytes of a whole proof are at most this many.
    package static let byteCountMax = 2 << 20

    /// The canonical bytes.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = [1]
        var introduction: [UInt8] = []
        self.introduction.encode(to: &introduction)
        bytes.appendPrefixed(introduction)
        for branch in [self.first, self.second] {
            bytes.appendVarint(UInt64(branch.headers.count))
            for header in branch.headers { bytes.appendPrefixed(header) }
            bytes.append(contentsOf: branch.signature.array)
        }
        return bytes
    }

    /// Reads a proof that fills all of `bytes`.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= ForkProof.byteCountMax else { throw .overLimit }
        var reader = ByteReader(bytes)
        guard try reader.byte() == 1 else { throw .unknownKind }
        self.introduction = try Introduction(decoding: try reader.prefixed(atMost: reader.remaining))
        self.first = try ForkProof.branch(&reader)
        self.second = try ForkProof.branch(&reader)
        try reader.finish()
    }

    private static func branch(_ reader: inout ByteReader) throws(WireError) -> Branch {
        var headers: [[UInt8]] = []
        for _ in 0..<(try reader.count(atMost: min(Limits.runChangeCountMax, reader.remaining))) {
            headers.append(Array(try reader.prefixed(atMost: self.headerByteCountMax)))
        }
        return Branch(headers: headers, signature: try reader.signature())
    }

    /// What the proof proves: the replica and the first sequence that has two changes.
    ///
    /// Nil if it proves nothing.
    ///
    /// - Complexity: O(*n*) in the bytes, and two signature checks beside those of the certificates.
    package func disputed(
        in membership: Membership,
        _ cryptography: some ChangeCryptography
    ) -> Dot? {
        guard let device = self.introduction.device, let replica = self.introduction.replica(cryptography),
            self.introduction.user == membership.founder,
            self.introduction.isCertified(in: membership.workspace, cryptography),
            let one = self.check(self.first, replica: replica, device: device, cryptography),
            let other = self.check(self.second, replica: replica, device: device, cryptography),
            one.sequence == other.sequence, one.previous == other.previous, one.hash != other.hash
        else { return nil }
        return Dot(replica: replica, sequence: one.sequence)
    }

    private func check(
        _ branch: Branch,
        replica: ReplicaID,
        device: DeviceID,
        _ cryptography: some ChangeCryptography
    ) -> (sequence: UInt64, previous: Hash256, hash: Hash256)? {
        var first: (sequence: UInt64, previous: Hash256, hash: Hash256)?
        var head: (sequence: UInt64, hash: Hash256)?
        for header in branch.headers {
            guard let fields = try? HeaderFields(decoding: header), fields.replica == replica else { return nil }
            if let head {
                guard fields.previous == head.hash, fields.sequence == head.sequence + 1 else { return nil }
            }
            let hash = Hash256(bytes: cryptography.hash256(.change, header))
            head = (fields.sequence, hash)
            first = first ?? (fields.sequence, fields.previous, hash)
        }
        guard let head,
            cryptography.isValid(branch.signature, of: ChainHash.signedMessage(head.hash), by: device.bytes)
        else { return nil }
        return first
    }
}

/// What binds a header into its chain.
package struct HeaderFields: Hashable, Sendable {
    package var replica: ReplicaID
    package var sequence: UInt64
    package var previous: Hash256

    /// Reads the front of a header.
    package init(decoding header: [UInt8]) throws(WireError) {
        var reader = ByteReader(header)
        guard try reader.byte() == ChainHash.formatVersion else { throw .unknownKind }
        self.replica = ReplicaID(bytes: try reader.bytes16())
        self.sequence = try reader.varint()
        guard self.sequence >= 1, self.sequence <= Limits.sequenceMax else { throw .overLimit }
        self.previous = Hash256(bytes: try reader.bytes32())
    }
}
