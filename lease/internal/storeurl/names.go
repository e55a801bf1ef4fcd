package storeurl

// Password is in each of [Names] that has one. Nothing may show it.
const Password = "hunter2"

// A Name is how somebody writes where a store is, and what all programs make of it: one of Dir, URL and Wrong is not empty.
type Name struct {
	Name  string
	Dir   string // the directory that it means
	URL   string // the URL that it means, as it is printed; no server is there
	Wrong string // part of the error
}

// Names returns names of stores as users write them: right, mistyped, and as drivers take them.
func Names() []Name {
	at := func(char string) string { return "a name with '" + char + "' in it that is no URL" }
	return []Name{
		{Name: "leases", Dir: "leases"},
		{Name: "/nonesuch/leases", Dir: "/nonesuch/leases"},
		{Name: "my leases", Dir: "my leases"},
		{Name: "file:leases", Dir: "leases"},
		{Name: "file:///nonesuch/leases", Dir: "/nonesuch/leases"},
		{Name: "file://relative", Wrong: "want file:DIR"},
		{Name: "file:", Wrong: "want file:DIR"},

		{Name: "sqlite:/nonesuch/ids.db", URL: "sqlite:/nonesuch/ids.db"},
		{Name: "sqlite:", Wrong: "want sqlite:FILE"},
		{Name: "sqlite:ids.db?spcae=ids", Wrong: `unknown parameter "spcae"`},

		{Name: "etcd://root:hunter2@127.0.0.1:1/?dial-timeout=100ms", URL: "etcd://root:xxxxx@127.0.0.1:1/?dial-timeout=100ms"},
		{Name: "redis://:hunter2@127.0.0.1:1/0", URL: "redis://:xxxxx@127.0.0.1:1/0"},
		{Name: "postgres://shop:hunter2@127.0.0.1:1/shop?schema=ids", URL: "postgres://shop:xxxxx@127.0.0.1:1/shop?schema=ids"},
		{Name: "mysql://shop:hunter2@127.0.0.1:1/shop", URL: "mysql://shop:xxxxx@127.0.0.1:1/shop"},
		{Name: "mariadb://shop:hunter2@127.0.0.1:1/shop", URL: "mariadb://shop:xxxxx@127.0.0.1:1/shop"},
		{Name: "s3://bucket/ids?endpoint=http://127.0.0.1:1", URL: "s3://bucket/ids?endpoint=http://127.0.0.1:1"},
		{Name: "kubernetes:shop/ids?kubeconfig=/nonesuch", URL: "kubernetes:shop/ids?kubeconfig=/nonesuch"},
		{Name: "kubernetes://shop/ids", Wrong: "want kubernetes:NAMESPACE/NAME"},

		{Name: "host=db user=shop password=hunter2", Wrong: at("=")},
		{Name: "shop:hunter2@tcp(db:3306)/shop", Wrong: at(":")},
		{Name: ":hunter2@redis:6379", Wrong: at(":")},
		{Name: "postgres//shop:hunter2@db/shop", Wrong: at(":")},
		{Name: "postgres%3A%2F%2Fshop%3Ahunter2%40db%2Fshop", Wrong: "as an encoded URL has"},
		{Name: "127.0.0.1:6379", Wrong: at(":")},
		{Name: "postgress://shop:hunter2@127.0.0.1:1/shop", Wrong: "no such kind of store"},
		{Name: "etcd:127.0.0.1:2379", Wrong: "want etcd://HOST"},
		{Name: "redis:/:hunter2@127.0.0.1:1", Wrong: "want redis://HOST"},
		{Name: "mysql:shop:hunter2@tcp(127.0.0.1:1)/shop", Wrong: "want mysql://HOST"},
		{Name: "s3://key:hunter2@bucket/ids", Wrong: "credentials come from the environment"},
		{Name: "etcd://root:hunter2/x@127.0.0.1:1", Wrong: "%2F for /"},
		{Name: "redis://shop:1#hunter2@127.0.0.1:1", Wrong: "%23 for #"},
		{Name: "postgres://shop:hunter2%zz@127.0.0.1:1/shop", Wrong: "special characters encoded"},
		{Name: "postgres://shop:hunter2@127.0.0.1:1/shop?shcema=ids", Wrong: `unknown parameter "shcema"`},
		{Name: "mysql://shop:hunter2@127.0.0.1:1", Wrong: "want mysql://USER:PASSWORD@HOST:3306/DATABASE"},
	}
}
