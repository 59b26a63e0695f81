/// Why a run was not accepted.
///
/// Nothing of it is kept.
package enum RunRejection: Error, Hashable, Sendable {
    /// The first change of a replica does not introduce the device, or a later one does.
    case introductionMisplaced
    /// The replica's id is not made of the device's key.
    case wrongReplica
    /// A certificate between the device and its user does not hold.
    case notCertified
    /// The signature does not hold for this chain.
    case badSignature
    /// There is no signature, or no change.
    case unsigned
    /// An operation's payload is not what its kind says.
    case malformed(WireError)
}

/// A run whose chain, signature and shape have been checked.
///
/// Only verification, or signing one's own, makes one; stores accept nothing else. It never changes, so copies share
/// it.
package struct VerifiedRun: Sendable {
    private let content: Content

    private final class Content: Sendable {
        let run: Run
        let hashes: [Hash256]
        let previous: Hash256
        let introduction: Introduction?

        init(_ run: Run, _ hashes: [Hash256], _ previous: Hash256, _ introduction: Introduction?) {
            (self.run, self.hashes, self.previous, self.introduction) = (run, hashes, previous, introduction)
        }
    }

    private init(run: Run, hashes: [Hash256], previous: Hash256, introduction: Introduction?) {
        self.content = Content(run, hashes, previous, introduction)
    }

    package var run: Run { self.content.run }
    /// The hash of each change.
    package var hashes: [Hash256] { self.content.hashes }
    /// The hash of the change before the first.
    package var previous: Hash256 { self.content.previous }
    /// The introduction, if the run begins the replica's chain.
    package var introduction: Introduction? { self.content.introduction }

    /// Checks a run of a replica that is known up to the change before the run's first.
    ///
    /// That says who wrote it. Whether he may write is another question (`CircleRights`).
    ///
    /// `previous`: the hash of the change before; the workspace's origin for the first.
    /// `device`: the device that signs the replica's chain; nil if the run begins it and must introduce it.
    /// - Complexity: O(*n*) in the bytes of the run, and one signature check (plus those of the certificates in a first
    ///   run).
    package static func verify(
        _ run: Run,
        previous: Hash256,
        device: DeviceID?,
        workspace: WorkspaceID,
        _ cryptography: some ChangeCryptography
    ) throws(RunRejection) -> VerifiedRun {
        guard let signature = run.signature, !run.changes.isEmpty else { throw .unsigned }
        let introduction = try self.introduction(of: run, workspace, cryptography)
        guard let signer = device ?? introduction?.device, (device == nil) == (introduction != nil) else {
            throw .introductionMisplaced
        }
        do throws(WireError) {
            try run.validate()
        } catch {
            throw .malformed(error)
        }
        let hashes = ChainHash.hashes(of: run, previous: previous, cryptography)
        guard let head = hashes.last,
            cryptography.isValid(signature, of: ChainHash.signedMessage(head), by: signer.bytes)
        else { throw .badSignature }
        return VerifiedRun(run: run, hashes: hashes, previous: previous, introduction: introduction)
    }

    /// Signs a run of one's own, if a receiver would accept it.
    ///
    /// `sign`: makes the device's signature of a message.
    package static func seal(
        _ builder: consuming RunBuilder,
        previous: Hash256,
        _ cryptography: some ChangeCryptography,
        sign: (_ message: [UInt8]) -> Signature
    ) throws(RunRejection) -> VerifiedRun {
        do throws(WireError) {
            try builder.run.validate()
        } catch {
            throw .malformed(error)
        }
        return self.sealUnchecked(builder, previous: previous, cryptography, sign: sign)
    }

    /// Signs a run without a look at it, as only hostile members and tests do.
    package static func sealUnchecked(
        _ builder: consuming RunBuilder,
        previous: Hash256,
        _ cryptography: some ChangeCryptography,
        sign: (_ message: [UInt8]) -> Signature
    ) -> VerifiedRun {
        var run = builder.signed(nil)
        let hashes = ChainHash.hashes(of: run, previous: previous, cryptography)
        run.signature = sign(ChainHash.signedMessage(hashes.last ?? previous))
        var introduction: Introduction?
        if run.firstSequence == 1, let first = run.operations.first {
            introduction = try? Introduction(decoding: run.payload[first.payloadRange])
        }
        return VerifiedRun(run: run, hashes: hashes, previous: previous, introduction: introduction)
    }

    /// The same run after operations of it were dropped.
    ///
    /// `run`: that run, with the hashes of what was dropped.
    package func replacingRun(with run: Run) -> VerifiedRun {
        VerifiedRun(run: run, hashes: self.hashes, previous: self.previous, introduction: self.introduction)
    }

    /// The part of this run after a sequence; nil if nothing is left.
    package func suffix(after sequence: UInt64) -> VerifiedRun? {
        guard sequence >= self.run.firstSequence else { return self }
        guard sequence < self.run.lastSequence else { return nil }
        let dropped = Int(sequence - self.run.firstSequence) + 1
        var run = self.run
        run.firstSequence = sequence + 1
        run.previous = nil
        run.changes.removeFirst(dropped)
        return VerifiedRun(
            run: run,
            hashes: Array(self.hashes[dropped...]),
            previous: self.hashes[dropped - 1],
            introduction: nil
        )
    }

    private static func introduction(
        of run: Run,
        _ workspace: WorkspaceID,
        _ cryptography: some ChangeCryptography
    ) throws(RunRejection) -> Introduction? {
        for (position, operation) in run.operations.enumerated() where operation.kind == .introduce {
            guard position == 0, run.firstSequence == 1 else { throw .introductionMisplaced }
        }
        guard run.firstSequence == 1 else { return nil }
        guard let first = run.operations.first, first.kind == .introduce, run.changes[0].operationCount > 0 else {
            throw .introductionMisplaced
        }
        let introduction: Introduction
        do throws(WireError) {
            introduction = try Introduction(decoding: run.payload[first.payloadRange])
        } catch {
            throw .malformed(error)
        }
        guard introduction.replica(cryptography) == run.replica else { throw .wrongReplica }
        guard introduction.isCertified(in: workspace, cryptography) else { throw .notCertified }
        return introduction
    }
}

/// Whose changes belong to a workspace.
package struct Membership: Hashable, Sendable {
    package var workspace: WorkspaceID
    package var founder: UserID

    package init(workspace: WorkspaceID, founder: UserID) {
        self.workspace = workspace
        self.founder = founder
    }
}

extension Run {
    /// Checks that the run is one that every device accepts: its sizes, and that what each operation holds is what its
    /// kind says.
    ///
    /// The limits of `Limits` are applied to runs here and nowhere else. Table indexes are checked by decoding.
    package func validate() throws(WireError) {
        var (size, redactionByteCount) = (ChangeSize.zero, 0)
        for change in self.changes {
            let own = self.size(of: change)
            // What was accepted before something of it was erased is accepted afterwards.
            let redaction = change.redaction == .partial ? Int(change.operationCount) * Bytes32.byteCount : 0
            redactionByteCount += redaction
            guard own.byteCount <= Limits.changeByteCountMax + redaction,
                own.operationCount <= Limits.changeOperationCountMax,
                Int(change.contextCount) <= Limits.contextEntryCountMax
            else { throw .overLimit }
            guard Int(change.blindingByteCount) == self.requiredBlindingByteCount(of: change),
                self.isRedactedInOneWay(change)
            else { throw .notCanonical }
            size += own
        }
        guard size.changeCount <= Limits.runChangeCountMax, size.operationCount <= Limits.runOperationCountMax,
            size.byteCount <= Limits.runByteCountMax + redactionByteCount,
            self.firstSequence <= Limits.sequenceMax - UInt64(Limits.runChangeCountMax)
        else { throw .overLimit }
        for name in self.names {
            guard name.utf8.count <= Limits.nameByteCountMax else { throw .overLimit }
        }
        for operation in self.operations {
            let payload = self.payload[operation.payloadRange]
            switch operation.kind {
            case .set:
                guard payload.count <= Limits.valueByteCountMax else { throw .overLimit }
                try Value.validate(payload)
            case .create: _ = try CreationBody(decoding: payload)
            case .unset, .delete, .erase:
                guard payload.isEmpty else { throw .trailingBytes }
            case .move:
                guard payload.count <= Limits.positionByteCountMax else { throw .overLimit }
            case .introduce: _ = try Introduction(decoding: payload)
            case .restamp: _ = try Restamp(decoding: payload)
            // What of them is here was looked at with their change.
            case .redacted: break
            default:
                guard payload.count <= Limits.opaqueByteCountMax else { throw .overLimit }
            }
        }
    }
}
