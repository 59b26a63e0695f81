package import CRDTCore

extension MemoryStore {
    /// A store of the test workspace that has nothing yet.
    package static var ofTestWorkspace: MemoryStore { MemoryStore(origin: ChainHash.origin(TestDevice.workspace)) }

    /// Takes runs in by one transaction.
    package mutating func receive(_ runs: [VerifiedRun], by merge: Merge) throws(StoreError) {
        try self.write { transaction throws(StoreError) in
            var merge = merge
            for run in runs { _ = try merge.receive(run, in: &transaction) }
            try merge.finish(in: &transaction)
        }
    }

    /// The whole state in plain words, of all `objects` that any operation might name.
    package mutating func plainState(_ objects: [ObjectID]) throws(StoreError) -> PlainState {
        try self.read { transaction throws(StoreError) in
            try StateReader.state(of: &transaction, objects: objects)
        }
    }
}
