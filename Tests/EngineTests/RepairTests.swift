import CRDTCore
import Testing

@testable import Engine

/// What happens when one replica id has two lives, or a clock was wrong: nothing written is lost, and equal frontiers
/// never hide different states.
struct RepairTests {
    private func founder(_ network: TestNetwork) throws -> Int {
        var entropy = TestNetwork.entropy(1)
        guard let identity = DeviceIdentity.founding(name: "first", entropy: &entropy) else {
            throw TestFailure("no identity")
        }
        return try network.add(identity, seed: 2)
    }

    private func demandEqual(_ network: TestNetwork, _ machines: [Int]) throws {
        for machine in machines.dropFirst() {
            #expect(try network.frontier(machines[0]) == network.frontier(machine))
            #expect(try network.export(machines[0]) == network.export(machine))
        }
    }

    private func forkNotices(_ network: TestNetwork, _ machine: Int) -> Int {
        network.machines[machine].notices.count { if case .forked = $0 { true } else { false } }
    }

    // MARK: - Forks

    /// A device that goes on with an older copy of its database on a machine that cannot tell, and writes before it
    /// meets the other again.
    private func restored(_ network: TestNetwork) throws -> (note: ObjectID, doomed: ObjectID) {
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        _ = try network.join(second, name: "third", seed: 4)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        let doomed = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let backup = network.copyStore(of: first)
        try network.write(first, .set(note, name: "title", value: .string("old")))
        try network.write(first, .set(note, name: "x", value: .string("lost?")))
        try network.write(first, .delete(doomed))
        network.settle()
        for (left, right) in [(0, 1), (0, 2), (1, 2)] { network.cut(left, right) }
        try network.restart(first, with: backup, seed: 77)
        network.settle(seconds: 60)
        try network.write(first, .set(note, name: "title", value: .string("newest")))
        try network.write(first, .set(doomed, name: "text", value: .string("edited")))
        return (note, doomed)
    }

    /// The older of two writes of one device is not in force, and nothing is deleted that was edited apart.
    private func demandBothForks(_ network: TestNetwork, _ machines: [Int]) throws {
        for machine in machines {
            let export = try network.export(machine)
            #expect(export.contains("\"title\":\"newest\""))
            #expect(export.contains("\"x\":\"lost?\""))
            #expect(export.contains("\"text\":\"edited\""))
        }
        try self.demandEqual(network, machines)
    }

    @Test func `both forks of a restored database count on every peer`() throws {
        let network = TestNetwork()
        _ = try self.restored(network)
        network.healAll()
        network.settle(seconds: 300)
        try self.demandBothForks(network, [0, 1, 2])
        for machine in 0..<3 { #expect(self.forkNotices(network, machine) == 1) }
        try network.write(0, .create(.init(type: "note")))
        #expect(network.machines[0].notices.contains(.newReplica(.forked)))
    }

    @Test func `both forks count although the device that forked is gone`() throws {
        let network = TestNetwork()
        _ = try self.restored(network)
        network.healAll()
        // It meets the second alone, and never comes back.
        network.cut(1, 2)
        network.settle(seconds: 60)
        network.machines[0].isUp = false
        network.cut(0, 1)
        network.healAll()
        network.settle(seconds: 300)
        try self.demandBothForks(network, [1, 2])
    }

    @Test func `a later write by someone who had seen one fork is in force over the other`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let third = try network.join(first, name: "third", seed: 4)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let backups = (network.copyStore(of: first), network.copyStore(of: second))
        network.cut(first, second)
        network.cut(second, third)
        try network.write(first, .set(note, name: "title", value: .string("monday")))
        network.settle(seconds: 60)
        #expect(try network.export(third).contains("monday"))
        network.cut(first, third)
        network.healAll()
        network.cut(first, third)
        network.cut(second, third)
        try network.restart(first, with: backups.0, seed: 77)
        try network.restart(second, with: backups.1, seed: 78)
        try network.write(first, .set(note, name: "y", value: .string("goes on")))
        network.settle(seconds: 60)
        try network.write(second, .set(note, name: "title", value: .string("friday")))
        network.settle(seconds: 60)
        network.healAll()
        network.settle(seconds: 300)
        for machine in [first, second, third] {
            #expect(try network.export(machine).contains("\"title\":\"friday\""))
        }
        try self.demandEqual(network, [first, second, third])
    }

    @Test func `a database put back in place is noticed before the next write`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let backup = network.copyStore(of: first)
        try network.write(first, .set(note, name: "x", value: .string("lost?")))
        network.settle()
        network.cut(first, second)
        try network.restart(first, with: backup, token: 2, seed: 77)
        try network.write(first, .set(note, name: "y", value: .string("after restore")))
        #expect(network.machines[first].notices.contains(.newReplica(.copiedOrRestored)))
        network.healAll()
        network.settle(seconds: 300)
        #expect(try network.export(first).contains("lost?"))
        #expect(self.forkNotices(network, second) == 0)
        try self.demandEqual(network, [first, second])
    }

    @Test(arguments: [10, 600, 3_000])
    func `a long fork costs little more than what it holds`(length: Int) throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        func write(_ count: Int, _ name: String) throws {
            for number in 0..<count {
                try network.write(first, .set(note, name: name, value: .int(Int64(number))))
            }
        }
        try write(length, "common")
        network.settle()
        let backup = network.copyStore(of: first)
        try write(length / 2, "lost")
        network.settle()
        network.cut(first, second)
        try network.restart(first, with: backup, seed: 77)
        try write(length, "after")
        let before = network.deliveredByteCount
        network.healAll()
        network.settle(seconds: 300)
        for machine in [first, second] {
            #expect(try network.export(machine).contains("\"lost\":\(length / 2 - 1)"))
            #expect(try network.export(machine).contains("\"after\":\(length - 1)"))
            let status = try network.machines[machine].node.status(at: network.moment(of: machine))
            #expect(status.traffic.duplicateChangeCount <= 32)
            let isInSync = status.peers.allSatisfy(\.isInSync)
            #expect(isInSync)
        }
        try self.demandEqual(network, [first, second])
        #expect(network.deliveredByteCount - before < 40_000 + 300 * length)
        // Nobody holds more of what it wrote last than itself: it is the other fork that shows.
        try network.write(first, .create(.init(type: "note")))
        #expect(network.machines[first].notices.contains(.newReplica(.forked)))
    }

    /// What two copies have written, and a third of the second.
    @Test func `a fork in a fork comes together`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let others = try (2...4).map { try network.join(first, name: "device \($0)", seed: UInt64($0)) }
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let all = [first] + others
        func separate() { for left in all { for right in all where left < right { network.cut(left, right) } } }
        separate()
        var expected: [String] = []
        var backups = [network.copyStore(of: first)]
        for (round, other) in others.enumerated() {
            for number in 0..<30 {
                expected.append("\"r\(round)n\(number)\":\"at \(round)\"")
                let value = Value.string("at \(round)")
                try network.write(first, .set(note, name: "r\(round)n\(number)", value: value))
                if number == 14 { backups.append(network.copyStore(of: first)) }
            }
            network.healAll()
            for left in all {
                for right in all where left < right && (left, right) != (first, other) { network.cut(left, right) }
            }
            network.settle(seconds: 60)
            #expect(try network.frontier(first) == network.frontier(other))
            separate()
            try network.restart(first, with: backups[round == 1 ? 2 : round == 0 ? 1 : 0], seed: UInt64(90 + round))
        }
        network.healAll()
        network.settle(seconds: 300)
        let export = try network.export(first)
        for text in expected { #expect(export.contains(text)) }
        try self.demandEqual(network, all)
        let replicas = try network.frontier(first).entries.map(\.replica)
        #expect(Set(replicas).count < replicas.count - 1)
    }

    @Test func `a restored older copy that meets a peer before it writes takes a new replica id`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let backup = network.copyStore(of: first)
        try network.write(first, .set(note, name: "x", value: .string("kept by the peer")))
        network.settle()
        try network.restart(first, with: backup, seed: 77)
        network.settle()
        try network.write(first, .set(note, name: "y", value: .string("after restore")))
        network.settle()
        #expect(try network.export(first).contains("kept by the peer"))
        try self.demandEqual(network, [first, second])
        #expect(network.machines[second].notices.allSatisfy { if case .forked = $0 { false } else { true } })
        #expect(network.machines[first].notices.contains(.newReplica(.rolledBack)))
    }

    @Test func `a database that runs twice under one id is noticed by all and loses nothing`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let third = try network.join(first, name: "third", seed: 4)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        for machine in [first, second, third] { try network.write(machine, .create(.init(type: "mark"))) }
        network.settle()
        let clone = try network.clone(first, seed: 99)
        network.cut(first, third)
        network.cut(clone, second)
        for number in 0..<5 {
            try network.write(first, .set(note, name: "a\(number)", value: .string("original \(number)")))
            try network.write(clone, .set(note, name: "b\(number)", value: .string("clone \(number)")))
        }
        network.settle(seconds: 30)
        try network.write(third, .set(note, name: "c", value: .string("third")))
        network.healAll()
        network.settle(seconds: 600)
        let export = try network.export(second)
        for number in 0..<5 {
            #expect(export.contains("original \(number)"))
            #expect(export.contains("clone \(number)"))
        }
        #expect(export.contains("third"))
        try self.demandEqual(network, [first, second, third])
    }

    // MARK: - Clocks

    /// What is far ahead was made on the first device's own changes, as if its clock had been ahead.
    @Test func `a clock that falls behind restamps nothing because others wrote after it`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        let second = try network.join(first, name: "second", seed: 3)
        network.settle()
        try network.write(second, .set(note, name: "x", value: .string("made in time")))
        network.settle(seconds: 7_200)
        try network.write(first, .set(note, name: "x", value: .string("two hours later")))
        network.settle()
        try network.write(second, .set(note, name: "x", value: .string("made on it")))
        network.settle()
        network.cut(first, second)
        network.machines[first].clockOffsetMilliseconds = -3_600_000
        try network.write(first, .set(note, name: "y", value: .string("an hour behind")))
        // Held by its clock: what it shows is what was so by then.
        #expect(try network.export(first).contains("made in time"))
        network.machines[first].clockOffsetMilliseconds = 0
        network.healAll()
        network.settle()
        #expect(!network.machines[first].notices.contains(.newReplica(.clockRepaired)))
        #expect(try network.export(first).contains("made on it"))
        try self.demandEqual(network, [first, second])
    }

    /// Each waits for the clock of the other alone, and not for what it writes.
    @Test func `two devices whose clocks were ahead and that saw each other's writes are repaired apart`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let third = try network.join(first, name: "third", seed: 4)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        network.cut(first, third)
        network.cut(second, third)
        for machine in [first, second] { network.machines[machine].clockOffsetMilliseconds = 86_400_000 }
        for round in 0..<3 {
            for machine in [first, second] {
                try network.write(machine, .set(note, name: "k\(machine)", value: .int(Int64(round))))
                network.settle(seconds: 5)
            }
        }
        network.machines[second].isUp = false
        network.machines[first].clockOffsetMilliseconds = 0
        network.healAll()
        network.settle()
        for machine in [first, third] { #expect(try network.export(machine).contains("\"k0\":2")) }
        try self.demandEqual(network, [first, third])
    }

    @Test func `changes of a clock far ahead are held and come in when it is put right and later edits win`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(second, .create(.init(type: "note"))).created[0]
        network.settle()
        network.machines[first].clockOffsetMilliseconds = 10 * 365 * 86_400_000
        try network.write(first, .set(note, name: "k", value: .string("poison")))
        network.settle()
        #expect(try !network.export(second).contains("poison"))
        #expect(
            network.machines[second].notices.contains { if case .held("first", _) = $0 { true } else { false } }
        )
        #expect(network.machines[first].notices.contains { if case .clockDiffers = $0 { true } else { false } })
        network.machines[first].clockOffsetMilliseconds = 0
        try network.write(second, .set(note, name: "k", value: .string("good")))
        try network.write(first, .set(note, name: "j", value: .int(1)))
        network.settle()
        #expect(try network.export(first).contains("\"k\":\"good\""))
        #expect(try network.export(second).contains("\"j\":1"))
        try self.demandEqual(network, [first, second])
    }

    /// Found by the simulator: clocks, seed 11.
    @Test func `a clock that is put right is noticed though nobody writes any more`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        network.machines[first].clockOffsetMilliseconds = 10 * 365 * 86_400_000
        try network.write(first, .create(.init(type: "note", properties: ["k": .string("early")])))
        network.settle()
        #expect(try !network.export(second).contains("early"))
        network.machines[first].clockOffsetMilliseconds = 0
        network.settle()
        #expect(try network.export(second).contains("early"))
        try self.demandEqual(network, [first, second])
    }

    /// Found by the simulator, seed 119: each told the other that its changes are held, and each wrote them again.
    @Test func `two devices whose clocks fall back to 1970 do not write their changes again and again`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        for machine in [first, second] { try network.write(machine, .create(.init(type: "note"))) }
        network.settle()
        let before = try network.frontier(first).entries.count
        for machine in [first, second] {
            network.machines[machine].clockOffsetMilliseconds = -Int64(network.moment(of: machine).wall.milliseconds)
        }
        try network.write(first, .create(.init(type: "note", properties: ["k": .string("written in 1970")])))
        network.cut(first, second)
        network.healAll()
        network.settle(seconds: 60)
        #expect(try network.frontier(first).entries.count <= before + 1)
        #expect(try network.frontier(second).entries.count <= before + 1)
        for machine in [first, second] { network.machines[machine].clockOffsetMilliseconds = 0 }
        network.settle()
        try self.demandEqual(network, [first, second])
        #expect(try network.export(second).contains("written in 1970"))
    }

    /// Found by the simulator, seed 119: the first write applied what was held, and was stamped before it.
    @Test func `the first write of a device whose clock fell back to 1970 counts`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        network.machines[second].clockOffsetMilliseconds = -Int64(network.moment(of: second).wall.milliseconds)
        try network.write(first, .set(note, name: "a", value: .string("held there")))
        network.settle(seconds: 30)
        // By its clock nothing that it had seen has been written yet.
        try network.write(second, .create(.init(type: "note", properties: ["k": .string("written in 1970")])))
        try network.write(second, .create(.init(type: "note", properties: ["k": .string("and again")])))
        network.machines[second].clockOffsetMilliseconds = 0
        network.settle()
        #expect(try network.export(first).contains("written in 1970"))
        #expect(try network.export(first).contains("and again"))
        try self.demandEqual(network, [first, second])
    }

    /// Found by the simulator, seed 19.
    @Test func `a clock that was ahead, then behind, and then put right is noticed`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        try network.write(first, .create(.init(type: "note")))
        network.settle()
        network.machines[second].clockOffsetMilliseconds = 10 * 365 * 86_400_000
        try network.write(second, .create(.init(type: "note", properties: ["k": .string("ahead")])))
        network.machines[second].clockOffsetMilliseconds = 0
        network.machines[second].clockOffsetMilliseconds = -Int64(network.moment(of: second).wall.milliseconds)
        try network.restart(second, with: network.copyStore(of: second), seed: 78)
        network.settle()
        network.machines[second].clockOffsetMilliseconds = 0
        network.settle()
        #expect(try network.export(first).contains("ahead"))
        try self.demandEqual(network, [first, second])
    }

    @Test func `a change held for an hour is applied when it is due`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        network.machines[first].clockOffsetMilliseconds = 3_600_000
        try network.write(first, .create(.init(type: "note", properties: ["t": .string("early")])))
        network.settle(seconds: 600)
        #expect(try !network.export(second).contains("early"))
        network.settle(seconds: 3000)
        #expect(try network.export(second).contains("early"))
        try self.demandEqual(network, [first, second])
    }
}
