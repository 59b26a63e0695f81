package import CRDTCore
internal import PeerCrypto

/// A transaction in the hands of a local caller: what it wants so far, and the state with that on top.
package struct LocalTransaction: ~Copyable {
    var plan: TransactionPlan
    var entropy: EntropyStream
    /// Everything that is stored.
    var store: any StoreTransaction
    /// The state of the timeline that is written to.
    var state: any CircleReading
    /// The branch that is written to; nil for the main timeline.
    let branch: BranchID?
    /// The device that writes: an undo takes back what it has done.
    package let device: DeviceID
    /// The device with its user, as its certificates say.
    let author: ChainAuthor?
    /// Whose the workspace is.
    let founder: UserID
    /// The action that the transaction belongs to.
    let action: ActionContext
    /// Why a step was refused.
    ///
    /// Part of it may be in the plan, which is not written then, whatever the caller makes of the error.
    var refusal: WriteRefusal?

    /// Plans something, unless something was refused before; keeps why this is.
    mutating func planning<Result>(
        _ body: (inout LocalTransaction) throws(WriteRefusal) -> Result
    ) throws(WriteRefusal) -> Result {
        if let refusal = self.refusal { throw refusal }
        do throws(WriteRefusal) {
            return try body(&self)
        } catch {
            self.refusal = error
            throw error
        }
    }

    /// Plans a step.
    package mutating func perform(_ step: Transaction.Step) throws(WriteRefusal) {
        try self.planning { local throws(WriteRefusal) in
            try local.plan.add(step, entropy: &local.entropy, in: &local.state)
        }
    }

    /// Makes an object, or finds the one that its key names.
    package mutating func create(_ creation: Transaction.Creation) throws(WriteRefusal) -> ObjectID {
        try self.perform(.create(creation))
        guard let object = self.plan.created.last else { throw .abandoned }
        return object
    }

    consuming func finish() throws(WriteRefusal) -> TransactionPlan {
        if let refusal = self.refusal { throw refusal }
        return self.plan
    }

    // MARK: - The state with this transaction's steps on top

    /// Runs a reader on the committed state of the timeline that is written to.
    package mutating func readState<Result>(
        _ body: (inout any CircleReading) throws(StoreError) -> Result
    ) throws(WriteRefusal) -> Result {
        do throws(StoreError) {
            return try body(&self.state)
        } catch {
            self.refusal = .store(error)
            throw .store(error)
        }
    }

    /// Runs a reader on everything that is stored.
    package mutating func readCommitted<Result>(
        _ body: (inout any StoreTransaction) throws(StoreError) -> Result
    ) throws(WriteRefusal) -> Result {
        do throws(StoreError) {
            return try body(&self.store)
        } catch {
            self.refusal = .store(error)
            throw .store(error)
        }
    }

    package mutating func isVisible(_ object: ObjectID) throws(WriteRefusal) -> Bool {
        try self.plan.isVisible(object, in: &self.state)
    }

    package mutating func properties(of object: ObjectID) throws(WriteRefusal) -> [ExactText: Value] {
        try self.plan.properties(of: object, in: &self.state)
    }

    package mutating func parent(of object: ObjectID) throws(WriteRefusal) -> ObjectID? {
        try self.plan.place(of: object, in: &self.state)
    }

    /// Type and kind of an object that this transaction makes; nil for any other.
    package func kind(ofNew object: ObjectID) -> (type: String, kind: String)? { self.plan.kinds[object] }

    /// What shows under a parent, in order.
    package mutating func children(of parent: ObjectID?) throws(WriteRefusal) -> [ObjectID] {
        try self.plan.siblings(of: nil, under: parent, in: &self.state).map(\.id)
    }
}
