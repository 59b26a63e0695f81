package import CRDTCore

/// The change of the founder that lets the other user of the test workspace write in a circle, in a chain of its own.
package struct Charter: Sendable {
    /// The device that writes it, and nothing else.
    package static let device = TestDevice(number: 1 << 20)
    package static let home = Charter(in: .home)
    /// That of a circle which the founder owns, too.
    package static let elsewhere = Charter(in: .shared(owner: TestDevice.user, nonce: Bytes16(high: 0, low: 1 << 21)))

    /// That of a circle beside that one.
    package static let beside = Charter(in: .beside(owner: TestDevice.user, nonce: Bytes16(high: 0, low: 1 << 22)))

    package let circle: Circle
    package let change: NaiveChange
    package let run: VerifiedRun

    /// `circle`: one that the founder owns.
    private init(in circle: Circle) {
        var history = GeneratedHistory()
        let nonce = Bytes16(high: 0, low: 1 << 20)
        let replica = Charter.device.replica(nonce: nonce, in: circle)
        let introduction = Charter.device.introduction(nonce: nonce, in: circle, underNothingBut: [])
        history.devices[replica] = Charter.device
        let grant = RightsStatement.grants(.init(to: TestDevice.otherUser, .writer))
        self.change = history.append(replica, stamp: Stamp(rawValue: 1), [.introduce(introduction), .rights(grant)])
        self.run = history.sealed([self.change])
        self.circle = circle
    }

    /// What the chains of the other user are written under.
    package var grant: StatementID {
        let change = NamedChange(replica: self.change.replica, sequence: 1, hash: self.change.hash)
        return StatementID(change: change, index: 1)
    }
}

extension GeneratedHistory {
    /// Adds a charter.
    package mutating func add(_ charter: Charter) {
        let change = charter.change
        self.devices[change.replica] = Charter.device
        self.append(change.replica, stamp: change.stamp, change.edits)
    }
}

extension MemoryStore {
    /// A store of the test workspace that has the charter of home.
    package static var ofChartedWorkspace: MemoryStore {
        get throws(StoreError) {
            var store = MemoryStore.ofTestWorkspace
            let merge = Merge(now: WallTime(milliseconds: 1), founder: TestDevice.user)
            try store.receive([Charter.home.run], by: merge)
            return store
        }
    }
}
