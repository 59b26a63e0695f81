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

    /// One of two machines goes on with an older copy of its database, and writes before it meets the other again.
    private func restoreApart(_ machine: Int, _ backup: MemoryStore, _ note: ObjectID, in network: TestNetwork) throws {
        network.cut(0, 1)
        try network.restart(machine, with: backup, seed: 77)
        try network.write(machine, .set(note, name: "y", value: .string("after restore")))
        network.healAll()
        network.settle(seconds: 300)
        for machine in [0, 1] { #expect(try network.export(machine).contains("after restore")) }
        try self.demandEqual(network, [0, 1])
    }

    @Test func `a restored older copy that writes before it meets anyone loses nothing`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let backup = network.copyStore(of: first)
        try network.write(first, .set(note, name: "x", value: .string("lost?")))
        try network.write(first, .set(note, name: "z", value: .string("also lost?")))
        network.settle()
        try self.restoreApart(first, backup, note, in: network)
        for machine in [first, second] {
            let export = try network.export(machine)
            #expect(export.contains("\"lost?\""))
            #expect(export.contains("also lost?"))
        }
        #expect(network.machines[second].notices.contains { if case .equivocation = $0 { true } else { false } })
    }

    /// Of three machines the middle one alone meets the other two: an author, who has made a note, and a holder.
    private func relay() throws -> (network: TestNetwork, note: ObjectID) {
        let network = TestNetwork()
        let middle = try self.founder(network)
        let author = try network.join(middle, name: "author", seed: 3)
        let holder = try network.join(middle, name: "holder", seed: 4)
        #expect([middle, author, holder] == [0, 1, 2])
        network.cut(author, holder)
        let note = try network.write(author, .create(.init(type: "note"))).created[0]
        network.settle()
        return (network, note)
    }

    /// The author writes what the holder gets; then he and the middle go back to where they were before, and he writes
    /// something else, which only the middle gets.
    private func fork(_ relay: (network: TestNetwork, note: ObjectID)) throws {
        let network = relay.network
        let backups = (network.copyStore(of: 0), network.copyStore(of: 1))
        try network.write(1, .set(relay.note, name: "x", value: .string("lost?")))
        network.settle()
        #expect(try network.export(2).contains("lost?"))
        network.cut(0, 1)
        network.cut(0, 2)
        try network.restart(0, with: backups.0, seed: 77)
        try network.restart(1, with: backups.1, seed: 78)
        try network.write(1, .set(relay.note, name: "y", value: .string("after restore")))
        network.healAll()
        network.cut(1, 2)
        network.cut(0, 2)
        network.settle(seconds: 60)
        #expect(try network.export(0).contains("after restore"))
    }

    /// All but author and holder meet, and hold all of both branches.
    private func demandBoth(_ network: TestNetwork) throws {
        network.healAll()
        network.cut(1, 2)
        network.settle(seconds: 300)
        for machine in 0..<3 {
            #expect(try network.export(machine).contains("lost?"))
            #expect(try network.export(machine).contains("after restore"))
        }
        try self.demandEqual(network, [0, 1, 2])
    }

    /// Nobody but its author can write a branch again, and the two need never meet.
    @Test func `what one peer alone has of a lost branch comes to its author by way of another`() throws {
        let relay = try self.relay()
        try self.fork(relay)
        try self.demandBoth(relay.network)
    }

    /// The proof comes to the author before the whole log that leads to the fork: he can ask nobody for a branch yet.
    @Test func `what comes of a chain behind a fork that was proved before is written again`() throws {
        let relay = try self.relay()
        let network = relay.network
        let early = network.copyStore(of: 1)
        // More than goes out at once, and hard to compress.
        for number in 0..<200 {
            let digits = (1..<100).map { String($0 * (number + 7_919) * 104_729 % 46_656, radix: 36) }
            try network.write(1, .set(relay.note, name: "z", value: .string(digits.joined())))
        }
        network.settle()
        try self.fork(relay)
        network.healAll()
        network.cut(0, 1)
        network.cut(1, 2)
        try network.restart(1, with: early, seed: 79)
        network.settle(seconds: 300)
        #expect(network.machines[0].notices.contains { if case .equivocation = $0 { true } else { false } })
        try self.demandBoth(network)
    }

    /// It is sent in parts, and the deletion stands in the second.
    @Test func `a long branch is written again to its end`() throws {
        let network = TestNetwork()
        let first = try self.founder(network)
        let second = try network.join(first, name: "second", seed: 3)
        let note = try network.write(first, .create(.init(type: "note"))).created[0]
        network.settle()
        let backup = network.copyStore(of: first)
        let doomed = try network.write(second, .create(.init(type: "doomed"))).created[0]
        network.settle()
        for number in 0..<(TransferLimits.branch.changeCountMax + 10) {
            try network.write(first, .set(note, name: "x", value: .int(Int64(number))))
        }
        try network.write(first, .delete(doomed))
        network.settle()
        try self.restoreApart(first, backup, note, in: network)
        for machine in [first, second] { #expect(try !network.export(machine).contains("doomed")) }
    }

    /// What is far ahead was made on the first device's own changes, as if its clock had been ahead.
    ///
    /// But no peer says what time it is.
    @Test func `a clock that falls behind takes nothing back because others wrote after it`() throws {
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
        #expect(!network.machines[first].notices.contains(.newReplica(.clockRepaired)))
        #expect(try network.export(first).contains("made on it"))
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
        #expect(network.machines[second].notices.allSatisfy { if case .equivocation = $0 { false } else { true } })
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
        #expect(network.machines[first].notices.contains { if case .clockAhead = $0 { true } else { false } })
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
        try network.write(second, .set(note, name: "b", value: .string("written in 1970")))
        try network.write(second, .set(note, name: "c", value: .string("and again")))
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
