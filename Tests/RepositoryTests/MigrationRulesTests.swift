import Testing

@Suite struct MigrationRulesTests {
    @Test func `every migration is the one that was written down`() throws {
        let migrations = try Repository.files(withExtensions: ["sql"]).filter {
            $0.path.hasPrefix(MigrationRules.folder)
        }
        let fixture = try Repository.text(MigrationRules.fixture)
        let violations = MigrationRules.violations(migrations: migrations, fixture: fixture)
        #expect(violations.isEmpty, "\(violations.joined(separator: "\n"))")
    }

    private static let first = SourceFile(path: MigrationRules.folder + "1.sql", text: "CREATE TABLE a (b);\n")
    private static let line = "\(MigrationRules.checksum(of: first))  \(first.path)\n"

    @Test func `a migration as written down is allowed`() {
        let fixture = "# comment\n" + Self.line
        #expect(MigrationRules.violations(migrations: [Self.first], fixture: fixture).isEmpty)
    }

    @Test func `an edited migration is found`() {
        let edited = SourceFile(path: Self.first.path, text: Self.first.text + " ")
        #expect(MigrationRules.violations(migrations: [edited], fixture: Self.line).count == 1)
    }

    @Test func `a new and a missing migration are found`() {
        #expect(MigrationRules.violations(migrations: [Self.first], fixture: "").count == 1)
        #expect(MigrationRules.violations(migrations: [], fixture: Self.line).count == 1)
    }

    /// The messages of FIPS 180-4's examples, and the lengths around a block's end, whose digests `sha256sum` gave.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 55), "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (String(repeating: "a", count: 64), "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (String(repeating: "a", count: 1_000), "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"),
    ])
    func `the checksum is SHA-256`(message: String, digest: String) {
        #expect(SHA256.hexDigest(of: Array(message.utf8)) == digest)
    }
}
