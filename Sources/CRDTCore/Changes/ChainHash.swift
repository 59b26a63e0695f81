/// The hashes that bind a replica's changes into a chain.
///
/// leaf = H_leaf(salt ‖ operation); root = H_root(leaves in order); hash = H_change(header), and a header holds the
/// hash of the change before it. The salts of a change come four at a time from its secret:
/// H512_salt(secret ‖ group number).
package struct ChainHash {
    /// The version of the header below.
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
            self.fillHeader(of: change, in: run, sequence: sequence, previous: previous, &scratch, cryptography)
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

    /// The salts of the operations of a change.
    package static func salts(
        of change: Change,
        in run: Run,
        _ cryptography: some ChangeCryptography
    ) -> [UInt8] {
        var scratch = Scratch()
        self.fillSalts(of: change, in: run, &scratch, cryptography)
        return scratch.salts
    }

    /// The leaf of one operation under its salt.
    package static func leaf(
        of operation: Operation,
        in run: Run,
        salt: ArraySlice<UInt8>,
        _ cryptography: some ChangeCryptography
    ) -> Hash256 {
        var bytes = Array(salt)
        run.appendCanonical(operation, to: &bytes)
        return Hash256(bytes: cryptography.hash256(.leaf, bytes))
    }

    /// Buffers that are filled again for each change, so that hashing allocates nothing per operation.
    private struct Scratch {
        var salts: [UInt8] = []
        var leaves: [UInt8] = []
        /// What is hashed next: a salted operation, or in the end the header.
        var message: [UInt8] = []

        init() {
            self.salts.reserveCapacity(4 * Bytes16.byteCount)
            self.leaves.reserveCapacity(4 * Bytes32.byteCount)
            self.message.reserveCapacity(256)
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
        guard !change.hasLeftOut else {
            scratch.salts.append(contentsOf: blinding)
            return
        }
        var group: UInt64 = 0
        while scratch.salts.count < Int(change.operationCount) * Bytes16.byteCount {
            scratch.message.removeAll(keepingCapacity: true)
            scratch.message.append(contentsOf: blinding)
            scratch.message.appendVarint(group)
            let (first, second) = cryptography.hash512(.salt, scratch.message)
            first.append(to: &scratch.salts)
            second.append(to: &scratch.salts)
            group += 1
        }
    }

    /// Leaves the header in the message.
    private static func fillHeader(
        of change: Change,
        in run: Run,
        sequence: UInt64,
        previous: Hash256,
        _ scratch: inout Scratch,
        _ cryptography: some ChangeCryptography
    ) {
        let root = self.root(of: change, in: run, &scratch, cryptography)

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
        root.append(to: &scratch.message)
    }

    /// The root over the operations of a change.
    package static func root(of change: Change, in run: Run, _ cryptography: some ChangeCryptography) -> Bytes32 {
        var scratch = Scratch()
        return self.root(of: change, in: run, &scratch, cryptography)
    }

    private static func root(
        of change: Change,
        in run: Run,
        _ scratch: inout Scratch,
        _ cryptography: some ChangeCryptography
    ) -> Bytes32 {
        if change.isRedacted, let root = Bytes32(run.blinding(of: change)) { return root }
        self.fillSalts(of: change, in: run, &scratch, cryptography)
        scratch.leaves.removeAll(keepingCapacity: true)
        var saltStart = 0
        for position in change.operationRange {
            let operation = run.operations[position]
            if operation.kind.isHash {
                scratch.leaves.append(contentsOf: run.payload[operation.payloadRange])
                // Where a change leaves something out, what is left out has no salt there.
                if change.hasLeftOut { continue }
            } else {
                scratch.message.removeAll(keepingCapacity: true)
                scratch.message.append(contentsOf: scratch.salts[saltStart..<saltStart + Bytes16.byteCount])
                run.appendCanonical(operation, to: &scratch.message)
                cryptography.hash256(.leaf, scratch.message).append(to: &scratch.leaves)
            }
            saltStart += Bytes16.byteCount
        }
        return cryptography.hash256(.root, scratch.leaves)
    }
}
