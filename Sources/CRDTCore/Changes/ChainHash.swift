/// The hashes that bind a replica's changes into a chain.
///
/// leaf = H_leaf(salt ‖ content of a write); hash = H_change(header ‖ shape of each operation ‖ H_contents(leaves in
/// order)), and a header holds the hash of the change before it. The salts of a change come four at a time from its
/// secret: H512_salt(secret ‖ group number).
///
/// So a leaf can stand for what was written, and nothing for what the change is about: that it writes, and to which
/// properties, and all that it does besides.
package struct ChainHash {
    /// The version of the bytes that are hashed.
    package static let formatVersion: UInt8 = 1

    /// The hash of every change of a run, in order.
    ///
    /// `previous`: the hash of the change before the run's first.
    /// - Complexity: O(*n*) in the bytes of the run; about a third of a microsecond for a small operation.
    package static func hashes(
        of run: Run,
        previous: Hash256,
        _ cryptography: some ChangeCryptography
    ) -> [Hash256] {
        var previous = previous
        var sequence = run.firstSequence
        var scratch = Scratch()
        var hashes: [Hash256] = []
        hashes.reserveCapacity(run.changes.count)
        for change in run.changes {
            let contents = self.contents(of: change, in: run, &scratch, cryptography)
            self.fillHeader(of: change, in: run, sequence: sequence, previous: previous, &scratch)
            for position in change.operationRange {
                run.appendShape(of: run.operations[position], to: &scratch.message)
            }
            contents.append(to: &scratch.message)
            previous = Hash256(bytes: cryptography.hash256(.change, scratch.message))
            hashes.append(previous)
            sequence += 1
        }
        return hashes
    }

    /// The hash that stands before a replica's first change: the workspace's id, so that a chain cannot be moved into
    /// another workspace.
    package static func origin(_ workspace: WorkspaceID) -> Hash256 { Hash256(bytes: workspace.bytes) }

    /// What a device signs for a run: the hash of its last change, in a domain of its own.
    package static func signedMessage(_ hash: Hash256) -> [UInt8] {
        var message: [UInt8] = []
        message.reserveCapacity(11 + Bytes32.byteCount)
        message.append(contentsOf: "peerd/run/1".utf8)
        hash.bytes.append(to: &message)
        return message
    }

    /// The leaf of each write of a change, in order; nil if they are not all known.
    package static func leaves(
        of change: Change,
        in run: Run,
        _ cryptography: some ChangeCryptography
    ) -> [Bytes32]? {
        guard change.redaction != .whole else { return nil }
        var scratch = Scratch()
        self.fillLeaves(of: change, in: run, &scratch, cryptography)
        let count = run.operations[change.operationRange].count(where: \.kind.isWrite)
        guard scratch.leaves.count == count * Bytes32.byteCount else { return nil }
        return stride(from: 0, to: scratch.leaves.count, by: Bytes32.byteCount).compactMap { start in
            Bytes32(scratch.leaves[start..<start + Bytes32.byteCount])
        }
    }

    /// The hash of those leaves.
    package static func contents(of change: Change, in run: Run, _ cryptography: some ChangeCryptography) -> Bytes32 {
        var scratch = Scratch()
        return self.contents(of: change, in: run, &scratch, cryptography)
    }

    /// The salts of what a change writes and is here, one after the other.
    package static func salts(
        of change: Change,
        in run: Run,
        _ cryptography: some ChangeCryptography
    ) -> [UInt8] {
        var scratch = Scratch()
        self.fillSalts(of: change, in: run, &scratch, cryptography)
        return scratch.salts
    }

    /// Buffers that are filled again for each change, so that hashing allocates nothing per operation.
    private struct Scratch {
        var salts: [UInt8] = []
        var leaves: [UInt8] = []
        /// What is hashed next: a salted content, or in the end the change.
        var message: [UInt8] = []

        init() {
            self.salts.reserveCapacity(4 * Bytes16.byteCount)
            self.leaves.reserveCapacity(4 * Bytes32.byteCount)
            self.message.reserveCapacity(384)
        }
    }

    private static func fillSalts(
        of change: Change,
        in run: Run,
        _ scratch: inout Scratch,
        _ cryptography: some ChangeCryptography
    ) {
        scratch.salts.removeAll(keepingCapacity: true)
        let blinding = run.blinding(of: change)
        switch change.redaction {
        case .whole: break
        case .partial: scratch.salts.append(contentsOf: blinding)
        case .none:
            var missing = run.operations[change.operationRange].count(where: \.hasContent)
            var group: UInt64 = 0
            while missing > 0 {
                scratch.message.removeAll(keepingCapacity: true)
                scratch.message.append(contentsOf: blinding)
                scratch.message.appendVarint(group)
                let (first, second) = cryptography.hash512(.salt, scratch.message)
                first.append(to: &scratch.salts)
                second.append(to: &scratch.salts)
                group += 1
                missing -= 4
            }
        }
    }

    private static func fillLeaves(
        of change: Change,
        in run: Run,
        _ scratch: inout Scratch,
        _ cryptography: some ChangeCryptography
    ) {
        self.fillSalts(of: change, in: run, &scratch, cryptography)
        scratch.leaves.removeAll(keepingCapacity: true)
        var saltStart = 0
        for position in change.operationRange {
            let operation = run.operations[position]
            if operation.hasContent {
                scratch.message.removeAll(keepingCapacity: true)
                scratch.message.append(contentsOf: scratch.salts[saltStart..<saltStart + Bytes16.byteCount])
                scratch.message.append(contentsOf: run.payload[operation.payloadRange])
                cryptography.hash256(.leaf, scratch.message).append(to: &scratch.leaves)
                saltStart += Bytes16.byteCount
            } else if operation.kind == .redacted {
                scratch.leaves.append(contentsOf: run.payload[operation.payloadRange])
            }
        }
    }

    private static func contents(
        of change: Change,
        in run: Run,
        _ scratch: inout Scratch,
        _ cryptography: some ChangeCryptography
    ) -> Bytes32 {
        if change.redaction == .whole, let contents = Bytes32(run.blinding(of: change)) { return contents }
        self.fillLeaves(of: change, in: run, &scratch, cryptography)
        // A change that writes nothing has its secret there, so that no two changes of different moments are one.
        if scratch.leaves.isEmpty { scratch.leaves.append(contentsOf: run.blinding(of: change)) }
        return cryptography.hash256(.contents, scratch.leaves)
    }

    /// Leaves the header in the message.
    private static func fillHeader(
        of change: Change,
        in run: Run,
        sequence: UInt64,
        previous: Hash256,
        _ scratch: inout Scratch
    ) {
        scratch.message.removeAll(keepingCapacity: true)
        scratch.message.append(self.formatVersion)
        run.replica.bytes.append(to: &scratch.message)
        scratch.message.appendVarint(sequence)
        previous.bytes.append(to: &scratch.message)
        scratch.message.appendBigEndian(change.stamp.rawValue)
        scratch.message.appendVarint(UInt64(change.contextCount))
        for entry in run.contextEntries[change.contextRange] {
            entry.replica.bytes.append(to: &scratch.message)
            scratch.message.appendVarint(entry.sequence)
            scratch.message.appendBigEndian(entry.name.rawValue)
        }
        scratch.message.appendVarint(UInt64(change.operationCount))
    }
}
