import CRDTCore
import MergeModel
import Testing

/// Who made an object, if several say that they did.
struct CreationTests {
    private static let user = TestDevice.user
    private static let other = TestDevice.otherUser

    /// The user whose creation counts, with the type that he gave, for every order in which two creations come.
    private func makers(of object: ObjectID, at stamp: UInt64, otherAt otherStamp: UInt64) throws -> [String] {
        var sample = TreeSample()
        sample.open("a", device: 1, at: stamp, [.create(object, type: "note", kind: "")])
        sample.open("b", device: 2, user: Self.other, at: otherStamp, [.create(object, type: "spam", kind: "")])
        return try sample.orders(of: ["a", "b"]).map { order in
            let store = try sample.store(order)
            return try store.read { transaction throws(StoreError) in
                guard let index = transaction.existingObjectIndex(of: object, in: .home),
                    let creation = transaction.object(index).creation,
                    let user = transaction.segment(creation.write.segment).introduction?.user
                else { return "nobody" }
                return (user == Self.user ? "user " : "other ") + transaction.name(creation.type)
            }
        }
    }

    @Test func `a back-dated creation of another's object changes neither its owner nor its type`() throws {
        for nonce in [0, 1, .max] as [UInt64] {
            let object = ObjectID(of: Self.user, nonce: nonce)
            #expect(try self.makers(of: object, at: 100, otherAt: 2) == ["user note", "user note"])
            #expect(try self.makers(of: object, at: 2, otherAt: 100) == ["user note", "user note"])
            let others = ObjectID(of: Self.other, nonce: nonce)
            #expect(try self.makers(of: others, at: 2, otherAt: 100) == ["other spam", "other spam"])
        }
    }

    @Test func `a back-dated creation takes no object over whose id is derived from a key`() throws {
        let space = ObjectID(bytes: Bytes16(high: 7, low: 7))
        let object = ObjectID(of: Self.user, key: "groceries", type: "list", in: space)
        #expect(try self.makers(of: object, at: 100, otherAt: 2) == ["user note", "user note"])
        #expect(try self.makers(of: object, at: 2, otherAt: 100) == ["user note", "user note"])
        // One user's devices derive one id, and others another.
        #expect(object == ObjectID(of: Self.user, key: "groceries", type: "list", in: space))
        let others = [
            ObjectID(of: Self.other, key: "groceries", type: "list", in: space),
            ObjectID(of: Self.user, key: "groceries", type: "note", in: space),
            ObjectID(of: Self.user, key: "tools", type: "list", in: space),
            ObjectID(of: Self.user, key: "groceries", type: "list", in: TreeSample.object),
        ]
        #expect(Set(others + [object]).count == 5)
    }

    @Test func `an id that is nobody's belongs to whoever creates it first`() throws {
        for object in [TreeSample.object, ObjectID(random: Bytes16(high: 1, low: 2))] {
            #expect(try self.makers(of: object, at: 100, otherAt: 2) == ["other spam", "other spam"])
            #expect(try self.makers(of: object, at: 2, otherAt: 100) == ["user note", "user note"])
        }
    }

    @Test func `an id says whose it is, in the form of a UUID`() {
        let id = ObjectID(of: Self.user, nonce: 0x0123_4567_89ab_cdef)
        #expect(id.description.hasPrefix("01234567-89ab-8def-"))
        #expect(["8", "9", "a", "b"].contains(id.description.dropFirst(19).prefix(1)))
        #expect(id.isGiven(by: Self.user) && !id.isGiven(by: Self.other))
        #expect(ObjectID(of: Self.user, nonce: 0xf000) == ObjectID(of: Self.user, nonce: 0))
        #expect(ObjectID(of: Self.user, nonce: 0x1_0000) != ObjectID(of: Self.user, nonce: 0))
    }
}
