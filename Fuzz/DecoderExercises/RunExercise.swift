internal import CRDTCore

/// Decodes a run and asks of it all that a node asks of a run it was sent.
enum RunExercise {
    static func seeds() -> [[UInt8]] {
        var unsigned = Samples.run
        unsigned.signature = nil
        let empty = Run(replica: Samples.other, firstSequence: 9)
        return [Samples.run, Samples.runWithLeaf, unsigned, empty].map { $0.encoded() }
    }

    static func complaint(_ input: [UInt8]) -> String? {
        guard let run = try? Run(decoding: input) else { return nil }
        let encoded = run.encoded()
        guard let again = try? Run(decoding: encoded) else { return "its own encoding is refused" }
        guard again == run, again.encoded() == encoded else { return "its own encoding decodes to another run" }
        let cryptography = PermissiveCryptography()
        let hashes = ChainHash.hashes(of: run, previous: .zero, cryptography)
        guard hashes.count == run.changes.count else { return "a change without a hash" }
        guard ChainHash.hashes(of: again, previous: .zero, cryptography) == hashes else { return "unstable hashes" }
        let isValid = (try? run.validate()) != nil
        for operation in run.operations {
            let edit = try? run.edit(operation)
            if isValid, edit == nil { return "a valid operation cannot be read" }
        }
        return (isValid ? Self.rebuildingComplaint(run) : nil) ?? Self.verificationComplaint(run)
    }

    /// A valid run that is put together anew from its edits is signed over the same bytes.
    private static func rebuildingComplaint(_ run: Run) -> String? {
        var builder = RunBuilder(replica: run.replica, firstSequence: run.firstSequence)
        for change in run.changes {
            builder.beginChange(
                stamp: change.stamp,
                context: run.contextEntries[change.contextRange],
                blinding: run.blinding(of: change),
                redaction: change.redaction
            )
            for operation in run.operations[change.operationRange] {
                guard let edit = try? run.edit(operation) else { return "a valid operation cannot be read" }
                builder.append(edit)
            }
        }
        let cryptography = PermissiveCryptography()
        let hashes = ChainHash.hashes(of: run, previous: .zero, cryptography)
        guard ChainHash.hashes(of: builder.run, previous: .zero, cryptography) == hashes else {
            return "put together anew it has other hashes"
        }
        // Whoever redacts something of it can still send it on.
        for stride in 1...2 {
            let places = run.operations.indices.filter { $0 % stride == 0 }
            guard let redacted = run.erasing(Set(places), cryptography)?.run else { continue }
            guard ChainHash.hashes(of: redacted, previous: .zero, cryptography) == hashes else {
                return "redacted it has other hashes"
            }
            if (try? redacted.validate()) == nil { return "redacted it is refused" }
        }
        // And whoever is asked for some of it can give that.
        if run.changes.count == 1, let given = run.revealing({ $0 % 2 == 0 }, cryptography) {
            guard ChainHash.hashes(of: given, previous: .zero, cryptography) == hashes else {
                return "given in part it has other hashes"
            }
            if (try? given.validate()) == nil { return "given in part it is refused" }
        }
        return nil
    }

    private static func verificationComplaint(_ run: Run) -> String? {
        let cryptography = PermissiveCryptography()
        for device in [nil, Samples.device] {
            let verified = try? VerifiedRun.verify(
                run,
                previous: ChainHash.origin(Samples.workspace),
                device: device,
                workspace: Samples.workspace,
                cryptography
            )
            guard let verified else { continue }
            guard let suffix = verified.suffix(after: run.firstSequence) else { continue }
            let hashes = ChainHash.hashes(of: suffix.run, previous: suffix.previous, cryptography)
            guard hashes == suffix.hashes else { return "a part of it has other hashes" }
        }
        return nil
    }
}
