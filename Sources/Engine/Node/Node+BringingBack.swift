internal import CRDTCore

/// What this user moved into a share that he has left, or another machine of his, and what does not count there: nobody
/// has it, and where it came from it is deleted. So it is made again there, as it was.
extension Node where Store: ~Copyable {
    /// Makes again what was lost in this way.
    ///
    /// - Complexity: O(*n*) for *n* changes of this user that do not count in what he has left.
    mutating func bringBack() throws(StoreError) {
        let (user, ended) = (self.identity.user, self.state.ended)
        let lost = try self.replica.read { (transaction: inout Store.Transaction) throws(StoreError) in
            try transaction.lostCreations(by: user, ended)
        }
        guard !lost.isEmpty else { return }
        try self.replica.transaction {
            (author: inout ReplicaAuthor, transaction: inout Store.Transaction) throws(StoreError) in
            let timeline = Timeline(circle: author.base(in: transaction))
            for start in stride(from: 0, to: lost.count, by: Self.broughtBackCountMax) {
                let part = Array(lost[start..<min(start + Self.broughtBackCountMax, lost.count)])
                _ = try author.commit(part, on: timeline, as: ActionContext(label: LeftWrite.label), in: &transaction)
            }
        }
        self.pumpAll()
    }

    /// Objects that one change makes again.
    private static var broughtBackCountMax: Int { 1_024 }
}

extension StoreTransaction {
    /// Creations of objects of the base that live nowhere, since this user moved them into what he has left, and that
    /// does not count.
    fileprivate mutating func lostCreations(
        by user: UserID,
        _ ended: [Circle: [ReplicaID: UInt64]]
    ) throws(StoreError) -> [Edit] {
        var (lost, known): ([Edit], Set<ObjectID>) = ([], [])
        for segment in self.segmentIndices {
            let progress = self.progress(of: segment)
            guard self.rights.isLeft(progress.circle), self.segment(segment).introduction?.user == user else {
                continue
            }
            var end = self.rights.limits(of: segment)?.last ?? .max
            if let told = ended[self.circles[progress.circle]] { end = min(end, told[self.replicaID(segment)] ?? 0) }
            var sequence = max(progress.firstSequence, end == .max ? .max : end + 1)
            while sequence <= progress.appliedSequence {
                let limits = RunLimits(changeCountMax: 1, operationCountMax: 0, byteCountMax: 0)
                guard let run = try self.loadRun(of: segment, from: sequence, limits: limits, signed: false) else {
                    throw .damaged("a change is missing from the log")
                }
                for operation in run.operations where operation.kind == .create {
                    let id = run.objects[Int(operation.object)]
                    guard known.insert(id).inserted,
                        let creation = try self.lostCreation(of: id, since: run.changes[0].stamp)
                    else { continue }
                    lost.append(creation)
                }
                sequence += UInt64(run.changes.count)
            }
        }
        return lost
    }

    /// The creation of an object in the base, if that was before a time, and it lives nowhere.
    private mutating func lostCreation(of id: ObjectID, since time: Stamp) throws(StoreError) -> Edit? {
        guard let object = try self.existingObjectIndex(of: id, in: self.circles.base),
            let creation = try self.object(object).creation
        else { return nil }
        // It has been made again already, and deleted since.
        let last = try self.creations(of: object).map(\.stamp).max() ?? creation.write.stamp
        guard last < time else { return nil }
        for other in try self.objects(of: id) where try self.look(at: other, { $0.isVisible }) { return nil }
        return .create(id, type: try self.name(creation.type), kind: try self.name(creation.kind))
    }
}
