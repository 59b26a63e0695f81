package import CRDTCore

/// The change of the founder that lets the other user of the test workspace write, in a chain of its own.
package enum Charter {
    /// The device that writes it, and nothing else.
    package static let device = TestDevice(number: 1 << 20)
    /// In a history of its own.
    private static let history: GeneratedHistory = {
        var history = GeneratedHistory()
        let nonce = Bytes16(high: 0, low: 1 << 20)
        let replica = Charter.device.replica(nonce: nonce)
        history.devices[replica] = Charter.device
        let grant = RightsStatement.grants(.init(to: TestDevice.otherUser, .writer))
        history.append(
            replica,
            stamp: Stamp(rawValue: 1),
            [.introduce(Charter.device.introduction(nonce: nonce)), .rights(grant)]
        )
        return history
    }()

    package static var change: NaiveChange { Charter.history.changes[0] }
    package static let run = Charter.history.sealed([Charter.change])
    /// What the chains of the other user are written under.
    package static let grant = StatementID(
        change: NamedChange(replica: Charter.change.replica, sequence: 1, hash: Charter.change.hash),
        index: 1
    )
}

extension GeneratedHistory {
    /// Adds the charter.
    package mutating func addCharter() {
        let change = Charter.change
        self.devices[change.replica] = Charter.device
        self.append(change.replica, stamp: change.stamp, change.edits)
    }
}

extension MemoryStore {
    /// A store of the test workspace that has the charter.
    package static var ofChartedWorkspace: MemoryStore {
        get throws(StoreError) {
            var store = MemoryStore.ofTestWorkspace
            let merge = Merge(now: WallTime(milliseconds: 1), founder: TestDevice.user)
            try store.receive([Charter.run], by: merge)
            return store
        }
    }
}
