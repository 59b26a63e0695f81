internal import CRDTCore
internal import SyncProtocol

/// What became of one run.
enum RunAcceptance {
    /// Up to this change.
    case stored(SegmentPoint)
    /// All of it was known, up to this change.
    case duplicate(SegmentPoint)
    case refused(RunRefusal)
}

/// Why a run was not taken in: nothing that comes after it over the same connection can be of use.
enum RunRefusal {
    /// It continues a change that is not stored, or its signature is false.
    case disputed
    case violation(String)
}

extension Replica where Store: ~Copyable {
    /// Stores and merges runs of a peer, up to the first that is refused, in one transaction.
    ///
    /// If another machine has written under the active replica, the next write makes a new one.
    ///
    /// `scope`: what their sender reads; nil if nobody hears what becomes of them.
    mutating func takeIn(_ runs: [Run], from scope: CircleScope? = nil) throws(StoreError) -> Intake {
        try self.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) -> Intake in
            let segmentCount = transaction.segmentCount
            let own = author.state.activeSegment.map { transaction.progress(of: $0) }
            var runIntake = RunIntake(
                membership: author.membership,
                user: author.identity.user,
                cryptography: author.cryptography,
                scope: scope,
                merge: author.merge()
            )
            var intake = try runIntake.take(runs, in: &transaction)
            try author.finish(&runIntake.merge, in: &transaction)
            intake.summary = runIntake.merge.summary
            for position in segmentCount..<transaction.segmentCount {
                let record = transaction.segment(SegmentIndex(rawValue: UInt32(position)))
                guard record.origin != nil else { continue }
                intake.forks.append((record.introduction?.deviceName ?? "unknown", record.firstSequence))
            }
            if let segment = author.state.activeSegment, let own {
                // To be sent what we do have says nothing: it may have come by way of others.
                let progress = transaction.progress(of: segment)
                if progress.storedSequence > own.storedSequence {
                    try author.leaveReplica(.rolledBack, in: &transaction)
                } else if progress.next != own.next {
                    try author.leaveReplica(.forked, in: &transaction)
                }
            }
            return intake
        }
    }
}

/// What became of runs that came together.
struct Intake {
    var summary: Merge.Summary
    /// The last change of each segment, in the order of segments.
    var places: [SegmentPoint] = []
    var duplicateChangeCount = 0
    var hasIntroductions = false
    /// The forks that are new.
    var forks: [(deviceName: String, sequence: UInt64)] = []
    var refusal: RunRefusal?
}

/// Checking what peers send before it is kept.
struct RunIntake {
    let membership: Membership
    /// Who uses this device.
    let user: UserID
    let cryptography: SodiumCryptography
    /// What the sender reads; nil if nobody hears what becomes of the runs.
    let scope: CircleScope?
    var merge: Merge

    /// Stores and merges runs, up to the first that is refused.
    mutating func take(_ runs: [Run], in transaction: inout some StoreTransaction) throws(StoreError) -> Intake {
        var intake = Intake(summary: self.merge.summary)
        var last: [SegmentIndex: UInt64] = [:]
        for run in runs {
            switch try self.accept(run, in: &transaction) {
            case .stored(let place):
                last[place.segment] = max(last[place.segment] ?? 0, place.sequence)
                if run.firstSequence == 1 { intake.hasIntroductions = true }
            case .duplicate(let place):
                last[place.segment] = max(last[place.segment] ?? 0, place.sequence)
                intake.duplicateChangeCount += run.changes.count
            case .refused(let refusal): intake.refusal = refusal
            }
            if intake.refusal != nil { break }
        }
        intake.places = last.map { SegmentPoint(segment: $0.key, sequence: $0.value) }
            .sorted { $0.segment.rawValue < $1.segment.rawValue }
        return intake
    }

    /// Checks a run against what is stored, and merges what is new.
    private mutating func accept(
        _ run: Run,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunAcceptance {
        let acceptance = try self.check(run, in: &transaction)
        // What was read once cannot be forgotten, and what comes now is not told: a false run must not show what it
        // would continue, or how long the chain is by now.
        if let scope, run.firstSequence > 1, case .refused = acceptance,
            let segment = transaction.firstSegment(of: run.replica),
            !scope.contains(transaction.progress(of: segment).circle)
        {
            return .refused(.disputed)
        }
        return acceptance
    }

    private mutating func check(
        _ run: Run,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunAcceptance {
        guard !run.changes.isEmpty else { return .refused(.violation("an empty run")) }
        let beginnings = try self.beginnings(of: run, in: &transaction)
        // Of what is stored the signature says nothing new, if there is no doubt which fork it is of. What we have
        // asked for comes without one.
        if beginnings.count == 1 || run.signature == nil, transaction.mayHold(run.replica, sequence: run.lastSequence) {
            for previous in beginnings {
                guard let known = try self.place(of: run, after: previous, in: &transaction) else { continue }
                if let refusal = try self.repair(from: run, known.hashes, in: &transaction) {
                    return .refused(refusal)
                }
                return .duplicate(known.last)
            }
        }
        let device = transaction.firstSegment(of: run.replica).flatMap { transaction.segment($0).device }
        for previous in beginnings {
            let verified: VerifiedRun
            do throws(RunRejection) {
                verified = try VerifiedRun.verify(
                    run,
                    previous: previous,
                    device: run.firstSequence == 1 ? nil : device,
                    workspace: self.membership.workspace,
                    self.cryptography
                )
            } catch {
                if error == .badSignature, run.firstSequence > 1 { continue }
                return .refused(.violation("a run was refused: \(error)"))
            }
            if let introduction = verified.introduction {
                switch try self.admission(of: introduction, in: &transaction) {
                case .admitted: break
                case .awaited: return .refused(.disputed)
                case .never:
                    // Whoever does not read the circle must not learn what of it is here.
                    let circle = transaction.circles.index(of: introduction.circle)
                    let isTold = self.scope.map { scope in circle.map { scope.contains($0) } ?? false } ?? true
                    return .refused(
                        isTold ? .violation("a chain that names what is no grant to its author") : .disputed
                    )
                }
            }
            let reception = try self.merge.receive(verified, in: &transaction)
            if reception != .doesNotFit { _ = try self.repair(from: run, verified.hashes, in: &transaction) }
            guard reception != .doesNotFit, let hash = verified.hashes.last,
                let place = try transaction.place(of: run.replica, sequence: run.lastSequence, hash: hash)
            else { return .refused(.violation("a run that does not fit its chain")) }
            return reception == .stored ? .stored(place) : .duplicate(place)
        }
        return .refused(.disputed)
    }

    /// What is to become of a chain by how it begins.
    private enum Admission {
        case admitted
        /// What it names may come yet: whoever sends the chain has it.
        case awaited
        case never
    }

    /// Whether a chain is one of those that are taken in: its user owns its circle, or it names grants to him in this
    /// circle that are all here, whether they count or not.
    ///
    /// Whoever reads the circle comes to the same answer once all of it is here. If one took in what another one does
    /// not, everything that is written after it would not reach that one.
    private func admission(
        of introduction: Introduction,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Admission {
        var isAwaited = false
        for grant in introduction.grants {
            let change = grant.change
            guard let place = try transaction.place(of: change.replica, sequence: change.sequence, hash: change.hash)
            else {
                isAwaited = true
                continue
            }
            let write = WriteReference(
                stamp: .zero,
                segment: place.segment,
                sequence: place.sequence,
                index: grant.index
            )
            guard transaction.circles[transaction.progress(of: place.segment).circle] == introduction.circle,
                case .rights(.grants(let said)) = try transaction.edit(write), said.user == introduction.user
            else { return .never }
        }
        if introduction.user == introduction.circle.owner(founder: self.membership.founder) {
            if isAwaited { return .awaited }
            return try self.isKnown(introduction.user, in: &transaction) ? .admitted : .awaited
        }
        return introduction.grants.isEmpty ? .never : isAwaited ? .awaited : .admitted
    }

    /// Whether a user is in the workspace, or was: anybody can make up users.
    private func isKnown(
        _ user: UserID,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> Bool {
        if user == self.membership.founder || user == self.user { return true }
        guard let roster = transaction.circles.index(of: .roster) else { return false }
        // What lets him in may have come just before.
        let rights = try transaction.judgedRights(founder: self.membership.founder)
        return rights.rights(in: roster)?.names(user) ?? false
    }

    /// Repairs what is needed of dropped writes from a run that is stored.
    ///
    /// The hash says that the content is the author's. Here it was never looked at.
    private mutating func repair(
        from run: Run,
        _ hashes: [Hash256],
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> RunRefusal? {
        guard try !transaction.isComplete() else { return nil }
        do throws(WireError) {
            try run.validate()
        } catch {
            return .violation("a run was refused: \(error)")
        }
        try self.merge.repair(from: run, hashes: hashes, in: &transaction, self.cryptography)
        return nil
    }

    /// The last change of a run, if it is stored, and the hashes of all.
    private func place(
        of run: Run,
        after previous: Hash256,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> (last: SegmentPoint, hashes: [Hash256])? {
        let hashes = ChainHash.hashes(of: run, previous: previous, self.cryptography)
        guard let hash = hashes.last,
            let last = try transaction.place(of: run.replica, sequence: run.lastSequence, hash: hash)
        else { return nil }
        return (last, hashes)
    }

    /// The hashes of the changes that a run may continue.
    private func beginnings(of run: Run, in transaction: inout some StoreTransaction) throws(StoreError) -> [Hash256] {
        guard run.firstSequence > 1 else { return [ChainHash.origin(self.membership.workspace)] }
        let before = run.firstSequence - 1
        var places: [SegmentPoint] = []
        if let name = run.previous {
            places = try transaction.places(of: Point(replica: run.replica, sequence: before, name: name))
        } else {
            // Each is tried with a signature check. A sender that has heard of this many names the one that it means.
            places = transaction.places(of: run.replica, sequence: before, segmentCountMax: Limits.unnamedForkCountMax)
        }
        var hashes: [Hash256] = []
        for place in places {
            if let hash = try transaction.hash(at: place) { hashes.append(hash) }
        }
        return hashes
    }
}
