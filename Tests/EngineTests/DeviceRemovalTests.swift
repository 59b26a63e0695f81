import CRDTCore
import MergeModel
import Synchronization
import Testing

@testable import Engine

/// Machines that are lost or stolen, and users who come back with their recovery words.
struct DeviceRemovalTests {
    private let network = TestNetwork()
    private static let words: UInt8 = 7

    private func set(_ object: ObjectID, _ title: String, _ machine: Int) throws {
        try self.network.write(machine, .set(object, name: "title", value: .string(title)))
    }

    private func share(_ object: ObjectID, _ machine: Int, with other: Int, as role: Role = .writer) throws {
        let user = self.network.users[other].user
        try self.network.write(machine) { local throws(WriteRefusal) in
            _ = try local.share(object, with: user, as: role)
        }
    }

    private func device(_ machine: Int) -> DeviceID { self.network.machines[machine].node.identity.device }

    @discardableResult
    private func remove(
        _ machine: Int,
        by other: Int,
        keeping kept: [Int] = [],
        takingOthers: Bool = false,
        since time: WallTime? = nil
    ) throws -> DeviceRemovalReport {
        let (device, keep) = (self.device(machine), Set(kept.map { self.device($0) }))
        let report = Mutex(DeviceRemovalReport())
        try self.network.write(other) { local throws(WriteRefusal) in
            let done = try local.remove(device: device, keeping: keep, takingOthers: takingOthers, since: time)
            report.withLock { $0 = done }
        }
        return report.withLock { $0 }
    }

    private func titles(_ machine: Int) throws -> [ObjectID: String] { try self.network.titles(machine) }

    /// Tells each machine where the others are.
    private func introduceAll() {
        for machine in self.network.machines.indices {
            for other in self.network.machines where other.host != self.network.machines[machine].host {
                let address = NetworkAddress(host: other.host, port: TestNetwork.port)
                self.network.handle(machine, .addAddress(address))
            }
        }
        self.network.settle(seconds: 60)
    }

    private func connected(_ machine: Int) throws -> Set<DeviceID> {
        let status = try self.network.machines[machine].node.status(at: self.network.moment(of: machine))
        return Set(status.peers.filter(\.isConnected).map(\.device))
    }

    @Test func `a stolen machine is refused and counts no more, but for what joined through it and is kept`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        self.network.settle(seconds: 10)
        let tablet = try self.network.join(phone, name: "tablet", seed: 4)
        let own = try self.network.create(laptop, "own")
        let list = try self.network.create(phone, "list")
        self.network.settle(seconds: 10)
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", seed: 5)
        self.network.settle(seconds: 30)
        try self.share(list, laptop, with: ann)
        try self.set(own, "by the phone", phone)
        self.introduceAll()
        for machine in [laptop, tablet, ann] { self.network.cut(phone, machine) }
        // The thief writes, lets in a machine of his own, and goes on with that.
        try self.set(own, "by the thief", phone)
        try self.set(list, "by the thief", phone)
        let machine = try self.network.join(phone, name: "thief's", seed: 6)
        for other in [laptop, tablet, ann] { self.network.cut(machine, other) }
        self.network.settle(seconds: 10)
        try self.network.write(machine, .delete(list))
        try self.set(list, "by the tablet", tablet)
        // Neither what did not join through this machine nor this one itself is removed, and nothing goes unnamed.
        #expect(throws: WriteRefusal.standsAbove("first")) { try self.remove(laptop, by: tablet) }
        #expect(throws: WriteRefusal.isThisDevice) { try self.remove(laptop, by: laptop) }
        #expect(throws: WriteRefusal.takesOthers(["tablet"])) { try self.remove(phone, by: laptop) }
        #expect(throws: WriteRefusal.notBelow("phone", "tablet")) {
            try self.remove(tablet, by: laptop, keeping: [phone])
        }
        let report = try self.remove(phone, by: laptop, keeping: [tablet])
        #expect(report == DeviceRemovalReport(removed: [self.device(phone)]))
        #expect(throws: WriteRefusal.isRemoved("phone")) { try self.remove(phone, by: laptop, takingOthers: true) }
        self.network.healAll()
        self.network.settle(seconds: 120)
        for reader in [laptop, tablet] {
            #expect(try self.titles(reader) == [own: "by the phone", list: "by the tablet"])
            let others = try self.connected(reader)
            #expect(others.isDisjoint(with: [self.device(phone), self.device(machine)]))
            #expect(others.contains(self.device(ann)))
            let status = try self.network.machines[reader].node.status(at: self.network.moment(of: reader))
            #expect(!status.peers.contains { $0.device == self.device(phone) })
        }
        #expect(try self.titles(ann) == [list: "by the tablet"])
        #expect(try self.connected(ann).isDisjoint(with: [self.device(phone), self.device(machine)]))
        // What was removed shows what it had, and nothing comes to it.
        try self.set(own, "later", laptop)
        self.network.settle(seconds: 60)
        #expect(try self.titles(phone)[own] == "by the thief")
        #expect(try self.titles(tablet)[own] == "later")
    }

    /// Who has told a machine that it is removed; nil if nobody has.
    private func removal(_ machine: Int) throws -> UserID? {
        try self.network.machines[machine].node.status(at: self.network.moment(of: machine)).removal?.user
    }

    @Test func `who was let in by another machine is not told that he is removed`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        self.network.settle(seconds: 10)
        // There is a roster.
        let bob = try self.network.join(laptop, name: "bob's", person: "bob", words: 8, seed: 4)
        self.introduceAll()
        for machine in [laptop, bob] { self.network.cut(machine, phone) }
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", words: 9, seed: 5)
        self.network.cut(laptop, ann)
        let address = NetworkAddress(host: self.network.machines[phone].host, port: TestNetwork.port)
        self.network.handle(ann, .addAddress(address))
        self.network.settle(seconds: 60)
        #expect(try !self.connected(phone).contains(self.device(ann)))
        #expect(try self.removal(ann) == nil)
    }

    @Test func `a session with a machine ends in the moment in which its removal arrives`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        self.network.settle(seconds: 10)
        let tablet = try self.network.join(laptop, name: "tablet", seed: 4)
        self.introduceAll()
        #expect(try self.connected(tablet).contains(self.device(phone)))
        try self.remove(phone, by: laptop)
        self.network.settle(milliseconds: 500)
        for machine in [laptop, tablet] { #expect(try !self.connected(machine).contains(self.device(phone))) }
        #expect(try self.removal(phone) == self.network.users[laptop].user)
        self.network.settle(seconds: 60)
        #expect(try self.removal(tablet) == nil && self.removal(laptop) == nil)
    }

    /// The first machine is stolen, and removes everybody else; with the recovery words another one comes back.
    @Test func `with the recovery words what a thief has done with the first machine is put back`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        self.network.settle(seconds: 10)
        let tablet = try self.network.join(phone, name: "tablet", seed: 4)
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", seed: 5)
        let list = try self.network.create(phone, "list")
        self.network.settle(seconds: 30)
        try self.share(list, laptop, with: ann)
        let task = try self.network.create(tablet, "task", below: list)
        let own = try self.network.create(phone, "own")
        self.introduceAll()
        let before = WallTime(milliseconds: self.network.moment(of: phone).wall.milliseconds)
        self.network.sleep(seconds: 60)
        // The thief.
        try self.remove(phone, by: laptop, takingOthers: true)
        try self.network.write(laptop, .delete(list))
        self.network.settle(seconds: 60)
        #expect(try self.titles(ann) == [:])
        #expect(try self.connected(ann).isDisjoint(with: [self.device(phone), self.device(tablet)]))
        let user = self.network.users[ann].user
        try self.network.write(laptop) { local throws(WriteRefusal) in try local.dismiss(user) }
        self.network.settle(seconds: 60)
        #expect(try self.connected(laptop) == [])

        try self.network.recover(phone, words: Self.words, generation: 2, seed: 31)
        let report = try self.remove(laptop, by: phone, keeping: [tablet], since: before)
        #expect(report.removed == [self.device(laptop)])
        self.network.settle(seconds: 300)
        #expect(try self.titles(ann) == [list: "list", task: "task"])
        for machine in [phone, tablet] {
            #expect(try self.titles(machine) == [list: "list", task: "task", own: "own"], "\(machine)")
        }
        try self.set(task, "by ann", ann)
        try self.set(list, "by the tablet", tablet)
        _ = try self.network.create(laptop, "by the thief")
        self.network.settle(seconds: 120)
        for machine in [phone, tablet, ann] {
            let titles = try self.titles(machine).filter { $0.key != own }
            #expect(titles == [list: "by the tablet", task: "by ann"])
            #expect(try !self.connected(machine).contains(self.device(laptop)))
        }
    }

    @Test func `who has lost all machines comes back with his words through anybody in the workspace`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let list = try self.network.create(laptop, "list")
        let own = try self.network.create(laptop, "own")
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", words: 9, seed: 5)
        self.network.settle(seconds: 30)
        try self.share(list, laptop, with: ann)
        self.network.settle(seconds: 30)
        self.network.stop(laptop)
        try self.set(list, "by ann", ann)
        // The invite lets in nobody else, and one for a new person is no way in for the founder.
        #expect(throws: TestFailure.self) {
            try self.network.join(ann, name: "eve's", isBack: true, words: 66, seed: 6)
        }
        #expect(throws: WriteRefusal.self) { try self.network.create(ann, "x", below: own) }
        let machine = try self.network.join(ann, name: "new", isBack: true, words: Self.words, seed: 7)
        self.network.settle(seconds: 60)
        #expect(try self.connected(machine) == [self.device(ann)])
        #expect(try self.titles(machine) == [list: "by ann"])
        try self.network.recover(machine, words: Self.words, generation: 2, seed: 71)
        self.network.settle(seconds: 60)
        // What only the lost machines had is lost with them.
        #expect(try self.titles(machine) == [list: "by ann"])
        let report = try self.remove(laptop, by: machine)
        #expect(report.removed == [self.device(laptop)])
        try self.set(list, "by the founder", machine)
        let new = try self.network.create(machine, "new", below: list)
        self.network.settle(seconds: 60)
        #expect(try self.titles(ann) == [list: "by the founder", new: "new"])
        // Somebody else comes back in the same way, without any right of the founder.
        let back = try self.network.join(machine, name: "ann's new", isBack: true, words: 9, seed: 8)
        self.network.settle(seconds: 60)
        #expect(try self.titles(back) == [list: "by the founder", new: "new"])
        #expect(self.network.users[back].user == self.network.users[ann].user)
    }

    /// Nobody has stolen anything: the first machine is gone, and what all machines have written stays.
    @Test func `what a machine wrote before it was recovered stays when it removes the first one`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        let tablet = try self.network.join(phone, name: "tablet", seed: 4)
        var expected: [ObjectID: String] = [:]
        self.network.settle(seconds: 10)
        for (machine, title) in [(laptop, "laptop's"), (phone, "phone's"), (tablet, "tablet's")] {
            expected[try self.network.create(machine, title)] = title
        }
        self.introduceAll()
        self.network.stop(laptop)
        try self.network.recover(phone, words: Self.words, generation: 2, seed: 31)
        try self.network.recover(tablet, words: Self.words, generation: 3, seed: 32)
        self.introduceAll()
        // What was certified last stands above what was before.
        #expect(throws: WriteRefusal.standsAbove("tablet")) { try self.remove(tablet, by: phone) }
        try self.remove(laptop, by: tablet)
        self.introduceAll()
        for machine in [phone, tablet] { #expect(try self.titles(machine) == expected) }
        let report = try self.remove(laptop, by: tablet, since: WallTime(milliseconds: 1))
        #expect(report.cutChangeCount > 0)
        self.introduceAll()
        expected = expected.filter { $0.value != "laptop's" }
        for machine in [phone, tablet] { #expect(try self.titles(machine) == expected) }
    }

    @Test func `a machine that a thief has removed is met again once it is recovered`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        let tablet = try self.network.join(laptop, name: "tablet", seed: 4)
        let note = try self.network.create(laptop, "note")
        self.introduceAll()
        try self.remove(phone, by: laptop)
        self.network.settle(seconds: 60)
        self.network.stop(laptop)
        try self.set(note, "by the phone", phone)
        self.network.settle(seconds: 60)
        #expect(try self.titles(tablet) == [note: "note"])
        #expect(try self.removal(phone) == self.network.users[laptop].user)
        try self.network.recover(phone, words: Self.words, generation: 2, seed: 31)
        self.network.settle(seconds: 120)
        #expect(try self.removal(phone) == nil)
        #expect(try self.connected(tablet) == [self.device(phone)])
        try self.set(note, "recovered", phone)
        self.network.settle(seconds: 60)
        #expect(try self.titles(tablet) == [note: "recovered"])
    }

    @Test func `what a stolen machine had removed is back if it is kept, and named if it is not`() throws {
        for isKept in [true, false] {
            let test = DeviceRemovalTests()
            let laptop = try test.network.found(words: Self.words, seed: 1)
            let phone = try test.network.join(laptop, name: "phone", seed: 3)
            test.network.settle(seconds: 10)
            let tablet = try test.network.join(phone, name: "tablet", seed: 4)
            let note = try test.network.create(tablet, "note")
            test.introduceAll()
            try test.remove(tablet, by: phone)
            test.network.settle(seconds: 60)
            #expect(try !test.connected(laptop).contains(test.device(tablet)))
            let report = try test.remove(phone, by: laptop, keeping: isKept ? [tablet] : [], takingOthers: true)
            #expect(report.stillRemoved == [])
            #expect((report.cutChangeCount > 0) == isKept)
            test.introduceAll()
            try test.set(note, "again", tablet)
            test.network.settle(seconds: 60)
            #expect(try test.titles(laptop) == [note: isKept ? "again" : "note"])
        }
    }

    /// The machine that removes another one does not know of a share that a third one has made.
    @Test func `a removal reaches what its machine does not know of yet, and what is shared later`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        let tablet = try self.network.join(laptop, name: "tablet", seed: 4)
        let list = try self.network.create(laptop, "list")
        let later = try self.network.create(laptop, "later")
        self.network.settle(seconds: 10)
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", seed: 5)
        let bob = try self.network.join(laptop, name: "bob's", person: "bob", seed: 6)
        self.introduceAll()
        for machine in [phone, tablet, ann, bob] { self.network.cut(laptop, machine) }
        self.network.settle(seconds: 10)
        try self.share(list, tablet, with: ann)
        self.network.settle(seconds: 60)
        try self.set(list, "by the phone", phone)
        self.network.settle(seconds: 60)
        self.network.sleep(seconds: 60)
        try self.remove(phone, by: laptop)
        let user = self.network.users[ann].user
        try self.network.write(laptop) { local throws(WriteRefusal) in try local.dismiss(user) }
        self.network.sleep(seconds: 60)
        // Neither the thief nor she has heard of it, nor who is with them.
        try self.set(list, "by the thief", phone)
        try self.share(list, phone, with: bob, as: .manager)
        _ = try self.network.create(ann, "ann's", below: list)
        self.network.settle(seconds: 60)
        self.network.healAll()
        self.network.settle(seconds: 300)
        for machine in [laptop, tablet] {
            #expect(try self.titles(machine) == [list: "by the phone", later: "later"])
        }
        // Nor does he write in what is shared from now on.
        try self.share(later, tablet, with: bob)
        self.network.settle(seconds: 60)
        let circles = try self.network.machines[tablet].node.read { transaction throws(StoreError) in
            let own = transaction.authors[self.device(phone)]
            return (0..<UInt32(transaction.circles.count)).map { CircleIndex(rawValue: $0) }.filter { index in
                guard let own, let rights = transaction.rights.rights(in: index) else { return true }
                return !rights.isRemoved(own)
            }
            .map { transaction.circles[$0] }
        }
        #expect(circles == [])
        // It is said once in each circle by each machine at most, and not again and again.
        let before = try self.network.frontier(tablet)
        self.network.settle(seconds: 600)
        #expect(try self.network.frontier(tablet) == before)
    }

    @Test func `who was removed from the workspace comes back as the same person`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let list = try self.network.create(laptop, "list")
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", words: 9, seed: 5)
        self.network.settle(seconds: 30)
        let user = self.network.users[ann].user
        try self.network.write(laptop) { local throws(WriteRefusal) in try local.dismiss(user) }
        self.network.settle(seconds: 30)
        #expect(try self.removal(ann) == self.network.users[laptop].user)
        self.network.stop(ann)
        #expect(throws: TestFailure.self) { try self.network.join(laptop, name: "x", isBack: true, words: 9, seed: 6) }
        let again = try self.network.join(laptop, name: "ann's new", person: "ann", words: 9, seed: 7)
        self.network.settle(seconds: 60)
        #expect(self.network.users[again].user == user)
        try self.share(list, laptop, with: again)
        self.network.settle(seconds: 60)
        #expect(try self.titles(again) == [list: "list"])
        try self.set(list, "by ann", again)
        self.network.settle(seconds: 60)
        #expect(try self.titles(laptop) == [list: "by ann"])
    }

    /// What a thief has said is said again by nobody else, with more weight than it had.
    @Test func `who was removed first and recovers brings back what was removed after`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        let tablet = try self.network.join(laptop, name: "tablet", seed: 4)
        self.network.settle(seconds: 10)
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", seed: 5)
        let list = try self.network.create(laptop, "list")
        self.network.settle(seconds: 30)
        try self.share(list, laptop, with: ann)
        self.introduceAll()
        try self.remove(phone, by: laptop)
        try self.remove(tablet, by: laptop)
        self.network.settle(seconds: 60)
        try self.network.recover(phone, words: Self.words, generation: 2, seed: 31)
        self.introduceAll()
        try self.remove(laptop, by: phone, keeping: [tablet])
        self.introduceAll()
        let note = try self.network.create(tablet, "tablet's")
        let other = try self.network.create(phone, "phone's")
        self.introduceAll()
        for machine in [phone, tablet] {
            let titles = try self.titles(machine)
            #expect(titles == [list: "list", note: "tablet's", other: "phone's"])
        }
    }

    /// A thief may open more chains, in more circles, than one transaction can name.
    @Test func `what one transaction has no room for is said right after it`() throws {
        let laptop = try self.network.found(words: Self.words, seed: 1)
        let phone = try self.network.join(laptop, name: "phone", seed: 3)
        let ann = try self.network.join(laptop, name: "ann's", person: "ann", seed: 5)
        let lists = try (0..<3).map { try self.network.create(laptop, "list \($0)") }
        self.network.settle(seconds: 30)
        for list in lists { try self.share(list, laptop, with: ann) }
        self.introduceAll()
        for list in lists { try self.set(list, "by the phone", phone) }
        self.network.settle(seconds: 30)
        let (device, user, list) = (self.device(phone), self.network.users[ann].user, lists[0])
        for isPerson in [false, true] {
            // The roster alone has room.
            try self.network.write(laptop) { local throws(WriteRefusal) in
                let statement = 512
                var left = Limits.transactionByteCountMax - statement
                while left > 0 {
                    let count = min(left, Limits.valueByteCountMax / 2)
                    let value = Value.string(String(repeating: "x", count: max(1, count - 128)))
                    try local.perform(.set(list, name: "filler", value: value))
                    left -= count
                }
                if isPerson { try local.dismiss(user) } else { _ = try local.remove(device: device) }
            }
            let silent = try self.network.machines[laptop].node.read { transaction throws(StoreError) in
                let author = transaction.authors[device]
                return (0..<UInt32(transaction.circles.count)).map { CircleIndex(rawValue: $0) }.filter { index in
                    guard let author, let rights = transaction.rights.rights(in: index) else { return true }
                    let isGranted = rights.standingGrants().contains { $0.grant.user == user }
                    return isPerson ? isGranted : !rights.isRemoved(author)
                }
            }
            #expect(silent == [])
        }
        self.network.settle(seconds: 60)
        #expect(try self.titles(laptop).values.sorted() == Array(repeating: "by the phone", count: 3))
    }
}
