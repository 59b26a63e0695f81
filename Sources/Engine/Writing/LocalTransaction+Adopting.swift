package import CRDTCore

/// Writing anew what counts nowhere, because its author had no right to write it.
extension LocalTransaction {
    /// Writes what of a change has no effect for want of a right, as edits of this user, as far as that can be done.
    ///
    /// Returns how many edits that are.
    package mutating func adopt(_ change: SegmentPoint) throws(WriteRefusal) -> Int {
        try self.planning { local throws(WriteRefusal) in
            let edits = try WriteRefusal.from { () throws(StoreError) in try local.store.rejectedEdits(of: change) }
            let circle = local.store.circles[local.store.progress(of: change.segment).circle]
            var parents: [ObjectID: ObjectID] = [:]
            for case .move(let object, let place) in edits { parents[object] = place.parent }
            var created: Set<ObjectID> = []
            var count = 0
            for edit in edits {
                guard let object = edit.object else { continue }
                if case .create(_, let type, let kind) = edit {
                    guard try !local.plan.isVisible(object, in: &local.state) else { continue }
                    var creation = Transaction.Creation(id: .given(object), type: type, kind: kind, circle: circle)
                    if let parent = parents[object], try local.plan.isVisible(parent, in: &local.state) {
                        creation.parent = parent
                    }
                    created.insert(object)
                    try local.plan.add(.create(creation), entropy: &local.entropy, in: &local.state)
                    count += 1
                    continue
                }
                // What is gone by now stays so.
                guard try local.plan.isVisible(object, in: &local.state) else { continue }
                switch edit {
                case .set(_, let name, let value): try local.plan.set(object, name: name, value: value)
                case .unset(_, let name): try local.plan.unset(object, name: name)
                case .delete:
                    // What was moved to another circle stays there.
                    guard try local.plan.circle(of: object, in: &local.state) == circle else { continue }
                    try local.plan.deleteAlone(object)
                case .move(_, let place):
                    if created.contains(object) { continue }
                    guard try local.canStand(object, below: place.parent) else { continue }
                    let step = Transaction.Step.move(object, parent: place.parent, before: nil)
                    try local.plan.add(step, entropy: &local.entropy, in: &local.state)
                default: continue
                }
                count += 1
            }
            return count
        }
    }

    /// Whether an object may be put below another one, or at the root.
    mutating func canStand(_ object: ObjectID, below parent: ObjectID?) throws(WriteRefusal) -> Bool {
        guard let parent else { return true }
        guard try self.plan.isVisible(parent, in: &self.state) else { return false }
        return try !self.plan.wouldCloseCycle(object, under: parent, in: &self.state)
    }
}
