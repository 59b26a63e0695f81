import CRDTCore
import Foundation
import LocalAPI
import NIOHTTP1
import PeerdKit
import Testing

/// Requests answered within the process, on a real workspace.
struct APIServiceTests {
    private final class Place {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("peerd-api-\(UUID().uuidString)")
        deinit { try? FileManager.default.removeItem(at: self.url) }
    }

    private let place = Place()

    private func service(on opened: Workspace? = nil) async throws -> APIService {
        var workspace = opened
        if workspace == nil { workspace = try await Workspace.create(at: self.place.url, name: "laptop") }
        let server = ServerDescription(
            version: "0",
            platform: "",
            listen: nil,
            filesDirectory: self.place.url.appendingPathComponent("files").path
        )
        return APIService(try #require(workspace), server, access: nil)
    }

    private func ask(
        _ service: APIService,
        _ method: HTTPMethod,
        _ target: String,
        _ body: String? = nil,
        _ headers: HTTPHeaders = [:]
    ) async throws -> (status: UInt, json: [ExactText: JSON], headers: HTTPHeaders) {
        let head = try RequestHead(method: method, target: target, headers: headers, entryPoint: .process)
        let content = body.map { RequestBody(Array($0.utf8)) } ?? .empty
        let response = await service.respond(to: Request(head: head, body: content))
        var members: [ExactText: JSON] = [:]
        if case .bytes(let bytes) = response.body, case .object(let found)? = JSON(parsing: bytes) { members = found }
        return (UInt(response.status.code), members, response.headers)
    }

    private func create(_ service: APIService, _ body: String) async throws -> String {
        let (status, object, headers) = try await self.ask(service, .POST, "/api/objects", body)
        #expect(status == 201)
        guard case .string(let id)? = object["id"] else { throw CancellationError() }
        #expect(headers["Location"] == ["/api/objects/\(id)"])
        return id
    }

    @Test(arguments: [
        (#"{"type":"a","type":"b"}"#, #""type""#), (#"{"type":"a","properties":{"x":1,"y":2,"x":1}}"#, #""x""#),
        (#"{"type":"a","properties":{"x":[{"deep":{"n":1,"n":2}}]}}"#, #""n""#),
        (#"{"type":"a","\u0074ype":"a"}"#, #""type""#),
    ])
    func `a body that says two things of one member is refused`(body: String, name: String) async throws {
        let service = try await self.service()
        let (status, problem, _) = try await self.ask(service, .POST, "/api/objects", body)
        #expect(status == 400)
        guard case .string(let detail)? = problem["detail"] else { throw CancellationError() }
        #expect(detail.contains("two members \(name) in one object"), "\(detail)")
        let (_, found, _) = try await self.ask(service, .GET, "/api/objects")
        #expect(found["objects"] == .array([]))
        // The same name in different objects is no repetition.
        _ = try await self.create(service, #"{"type":"a","properties":{"type":{"type":1},"x":[{"x":1},{"x":2}]}}"#)
    }

    @Test func `an object is created, read, edited and deleted`() async throws {
        let service = try await self.service()
        let id = try await self.create(service, #"{"type":"item","properties":{"title":"Milk","old":1}}"#)
        let edit = #"{"properties":{"title":"Oat milk","none":null},"remove":["old"]}"#
        let (status, object, _) = try await self.ask(service, .PATCH, "/api/objects/\(id)", edit)
        #expect(status == 200 && object["properties"] == .object(["title": .string("Oat milk"), "none": .null]))
        #expect(try await self.ask(service, .GET, "/api/objects/\(id.prefix(8))").json == object)
        #expect(try await self.ask(service, .DELETE, "/api/objects/\(id)").status == 204)
        let gone = try await self.ask(service, .GET, "/api/objects/\(id)")
        #expect(gone.status == 404 && gone.json["code"] == .string("no-such-object"))
        #expect(gone.headers["Content-Type"] == ["application/problem+json"])
    }

    @Test func `an edit of a version that is not there any more writes nothing`() async throws {
        let service = try await self.service()
        let id = try await self.create(service, #"{"type":"item","properties":{"n":1}}"#)
        let tag = try #require(try await self.ask(service, .GET, "/api/objects/\(id)").headers.first(name: "ETag"))
        let path = "/api/objects/\(id)/properties/n"
        #expect(try await self.ask(service, .PUT, path, "2", ["If-Match": tag]).status == 200)
        let late = try await self.ask(service, .PUT, path, "3", ["If-Match": tag])
        #expect(late.status == 412 && late.json["code"] == .string("version-changed"))
        let object = try await self.ask(service, .GET, "/api/objects/\(id)", nil, ["If-None-Match": tag])
        #expect(object.status == 200 && object.json["properties"] == .object(["n": .int(2)]))
        let fresh = try #require(object.headers.first(name: "ETag"))
        #expect(try await self.ask(service, .GET, "/api/objects/\(id)", nil, ["If-None-Match": fresh]).status == 304)
    }

    @Test func `a transaction is written as a whole or not at all`() async throws {
        let service = try await self.service()
        let edits = """
            {"edits":[{"create":"list","as":"$list","properties":{"title":"Groceries"}},
            {"create":"item","parent":"$list","properties":{"title":"Milk"}},
            {"create":"item","parent":"$list","first":true}]}
            """
        let (status, answer, _) = try await self.ask(service, .POST, "/api/transactions", edits)
        guard case .array(let created)? = answer["created"], case .string(let list)? = created.first else {
            Issue.record("\(status) \(answer)")
            return
        }
        #expect(status == 200 && created.count == 3)
        let children = try await self.ask(service, .GET, "/api/objects/\(list)/children")
        guard case .array(let objects)? = children.json["objects"], case .object(let first)? = objects.first else {
            Issue.record("\(children)")
            return
        }
        #expect(objects.count == 2 && first["id"] == created[2])
        let cycle =
            #"{"edits":[{"set":"\#(list)","properties":{"title":"x"}},{"move":"\#(list)","parent":"\#(list)"}]}"#
        #expect(try await self.ask(service, .POST, "/api/transactions", cycle).status == 409)
        let stale = #"{"if":{"\#(list)":"0"},"edits":[{"delete":"\#(list)"}]}"#
        #expect(try await self.ask(service, .POST, "/api/transactions", stale).status == 412)
        let object = try await self.ask(service, .GET, "/api/objects/\(list)")
        #expect(object.json["properties"] == .object(["title": .string("Groceries")]))
    }

    @Test func `a named transaction is done once, by all services that the workspace ever has`() async throws {
        var service = try await self.service()
        let list = try await self.create(service, #"{"type":"list"}"#)
        let edits = #"[{"create":"item","parent":"\#(list.prefix(8))","properties":{"n":1,"a":[1.0]}}]"#
        let first = try await self.ask(service, .POST, "/api/transactions", #"{"id":"one","edits":\#(edits)}"#)
        #expect(first.status == 200)
        // The same in other bytes, and without what it names.
        let same = #"{"edits" : [{"properties":{"a":[1.0],"n":1}, "parent":"\#(list.prefix(8))", "create":"item"}],"#
        let again = same + #" "id":"one", "if": null}"#
        for _ in 0..<2 {
            let repeated = try await self.ask(service, .POST, "/api/transactions", again)
            #expect(repeated.status == 200 && repeated.json == first.json)
            let other = try await self.ask(service, .POST, "/api/transactions", #"{"id":"one","edits":[]}"#)
            #expect(other.status == 409 && other.json["code"] == .string("id-of-another-write"))
            let condition = #"{"id":"one","edits":\#(edits),"if":{"\#(list)":"x"}}"#
            #expect(try await self.ask(service, .POST, "/api/transactions", condition).status == 409)
            _ = try await self.ask(service, .DELETE, "/api/objects/\(list)")
            await service.workspace.close()
            service = try await self.service(on: try await Workspace.open(at: self.place.url))
        }
        #expect(try await self.ask(service, .GET, "/api/objects/count").json["count"] == .int(0))
    }

    @Test func `a named transaction that failed may be sent again`() async throws {
        let service = try await self.service()
        let nobody = "00000000-0000-4000-8000-000000000000"
        let wrong = #"{"id":"one","edits":[{"create":"item"},{"delete":"\#(nobody)"}]}"#
        for _ in 0..<2 { #expect(try await self.ask(service, .POST, "/api/transactions", wrong).status == 404) }
        let right = #"{"id":"one","edits":[{"create":"item"}]}"#
        #expect(try await self.ask(service, .POST, "/api/transactions", right).status == 200)
        #expect(try await self.ask(service, .POST, "/api/transactions", wrong).status == 409)
        let long = #"{"id":"\#(String(repeating: "x", count: 257))","edits":[]}"#
        #expect(try await self.ask(service, .POST, "/api/transactions", long).status == 400)
        #expect(try await self.ask(service, .GET, "/api/objects/count").json["count"] == .int(1))
    }

    @Test(arguments: [
        ("application/json", 201), ("application/json; charset=utf-8", 201), ("Application/JSON ;charset=utf-8", 201),
        ("application/vnd.example+json", 201), ("text/plain", 415), ("text/plain;charset=UTF-8", 415),
        ("application/x-www-form-urlencoded", 415), ("multipart/form-data; boundary=x", 415), ("", 415),
        ("text/plain; x=+json", 415), ("text/plain, application/json", 415), ("application/x-ndjson", 415),
        ("application/jsonp", 415), ("json", 415), ("+json", 415),
    ])
    func `a body that says that it is no JSON is refused`(type: String, status: UInt) async throws {
        let service = try await self.service()
        let answer = try await self.ask(service, .POST, "/api/objects", #"{"type":"a"}"#, ["Content-Type": type])
        #expect(answer.status == status)
        if status == 415 {
            #expect(answer.json["code"] == .string("unsupported-media-type") && answer.json["advice"] != .null)
        }
        let count = try await self.ask(service, .GET, "/api/objects/count").json["count"]
        #expect(count == .int(status == 201 ? 1 : 0))
    }

    @Test(arguments: [
        ("PATCH", "/api/objects/x"), ("POST", "/api/objects/x/move"), ("PUT", "/api/objects/x/properties/a"),
        ("POST", "/api/transactions"), ("PUT", "/api/projects/x"), ("POST", "/api/import"), ("POST", "/api/sync"),
        ("POST", "/api/conflicts/resolve"), ("POST", "/api/peers"), ("POST", "/api/restamp"),
    ])
    func `no route takes JSON of another type`(method: String, target: String) async throws {
        let service = try await self.service()
        let type: HTTPHeaders = ["Content-Type": "text/plain"]
        let answer = try await self.ask(service, HTTPMethod(rawValue: method), target, "[]", type)
        #expect(answer.status == 415, "\(answer.json)")
    }

    @Test func `a tree is read in pages that fit together`() async throws {
        let service = try await self.service()
        var parent = "null"
        for depth in 0..<5 {
            for _ in 0..<3 { _ = try await self.create(service, #"{"type":"leaf","parent":\#(parent)}"#) }
            let id = try await self.create(service, #"{"type":"folder\#(depth)","parent":\#(parent)}"#)
            parent = "\"\(id)\""
        }
        let whole = try await self.ask(service, .GET, "/api/tree?limit=1000").json["objects"]
        guard case .array(let all)? = whole else {
            Issue.record("\(String(describing: whole))")
            return
        }
        #expect(all.count == 20)
        for limit in 1...7 {
            var found: [JSON] = []
            var after = ""
            while true {
                let page = try await self.ask(service, .GET, "/api/tree?limit=\(limit)\(after)").json
                if case .array(let objects)? = page["objects"] { found += objects }
                guard case .string(let next)? = page["next"] else { break }
                after = "&after=\(next)"
            }
            #expect(found == all, "\(limit)")
        }
    }

    @Test func `projects are documents by name`() async throws {
        let service = try await self.service()
        let path = "/api/projects/My%20song"
        #expect(try await self.ask(service, .PUT, path, #"{"tempo":120}"#, ["If-None-Match": "*"]).status == 201)
        #expect(try await self.ask(service, .PUT, path, #"{"tempo":90}"#, ["If-None-Match": "*"]).status == 412)
        #expect(try await self.ask(service, .GET, path).json == ["tempo": .int(120)])
        #expect(try await self.ask(service, .PUT, path, #"{"tempo":90}"#).status == 204)
        #expect(try await self.ask(service, .DELETE, path).status == 204)
        #expect(try await self.ask(service, .GET, path).status == 404)
    }

    @Test(arguments: [
        ("POST", "/api/objects", "{", 400), ("POST", "/api/objects", "[]", 400), ("POST", "/api/objects", "{}", 400),
        ("POST", "/api/objects", #"{"type":1}"#, 400), ("POST", "/api/objects", #"{"type":"a","parent":"zz"}"#, 404),
        ("GET", "/api/objects?limit=0", nil, 400), ("GET", "/api/objects?limit=1001", nil, 400),
        ("GET", "/api/objects?after=x", nil, 400), ("GET", "/api/objects?property=a", nil, 400),
        ("GET", "/api/objects?property=a&value=b", nil, 400), ("GET", "/api/nothing", nil, 404),
        ("PUT", "/api/objects", "{}", 405), ("GET", "/api/changes?since=x&type=a", nil, 422),
        ("POST", "/api/invites", nil, 503), ("GET", "/ws/sync", nil, 426),
        ("POST", "/api/transactions", #"{"edits":[{"set":"$a","properties":{}}]}"#, 422),
        ("POST", "/api/transactions", #"{"edits":[{"set":"1234","delete":"1234"}]}"#, 400),
        ("POST", "/api/import", "[{}]", 422),
    ])
    func `what cannot be done is a problem that says so`(
        method: String,
        target: String,
        body: String?,
        status: UInt
    ) async throws {
        let service = try await self.service()
        let answer = try await self.ask(service, HTTPMethod(rawValue: method), target, body)
        #expect(answer.status == status, "\(answer.json)")
        guard case .string(let detail)? = answer.json["detail"], answer.json["status"] == .int(Int64(status)) else {
            Issue.record("\(answer)")
            return
        }
        #expect(!detail.isEmpty)
    }
}
